#include "runtime/cpu/thread_team.h"

#include <algorithm>
#include <chrono>

#include "runtime/relax.h"

namespace gart::cpu {
namespace {

constexpr int kSpinsPerClockRead = 64;

}  // namespace

bool Signal::spin(uint32_t old) const {
  for (int i = 0; i < kSpinsPerClockRead; ++i) {
    if (value() != old) return true;
    relax();
  }
  return false;
}

Signal::Wait Signal::wait(uint32_t old, int64_t spin_us, const std::atomic<int>* limit, int index) {
  using Clock = std::chrono::steady_clock;
  for (Clock::time_point deadline = {};;) {
    if (spin(old)) return deadline == Clock::time_point() ? Wait::instant : Wait::spun;
    const Clock::time_point now = Clock::now();
    if (deadline == Clock::time_point()) deadline = now + std::chrono::microseconds(spin_us);
    if (now >= deadline || (limit != nullptr && limit->load(std::memory_order_relaxed) <= index)) break;
  }
  sleepers_.fetch_add(1, std::memory_order_seq_cst);
  value_.wait(old, std::memory_order_seq_cst);
  sleepers_.fetch_sub(1, std::memory_order_relaxed);
  return Wait::slept;
}

/// Either the waiter counts itself first, and this function sees the count. Or the store comes first, and the waiter
/// sees the new value.
void Signal::set(uint32_t value) {
  value_.store(value, std::memory_order_seq_cst);
  if (sleepers_.load(std::memory_order_seq_cst) > 0) value_.notify_all();
}

/// Adjusts the spin time after a wait at a barrier. If two threads do so at once, an adjustment may be lost, which does
/// no harm.
void ThreadTeam::learn(Signal::Wait wait) {
  if (wait == Signal::Wait::instant) return;
  const int64_t spin = barrier_spin_us_.load(std::memory_order_relaxed);
  const int64_t next = wait == Signal::Wait::slept ? std::max(spin / 4, std::min(kShortSpin, most_spin_us_))
                                                   : std::min(spin + spin / 8, most_spin_us_);
  if (next != spin) barrier_spin_us_.store(next, std::memory_order_relaxed);
}

void ThreadTeam::run(Job job, void* context, uint32_t begin, uint32_t end) {
  job_ = job;
  context_ = context;
  end_ = end;
  phase_.begin = begin;
  const uint32_t phase = phase_.value();
  for (Place& place : places_) {
    place.progress.reset();
    place.taken.store(&place - places_.data() < size_ ? phase : 1, std::memory_order_relaxed);
  }
  phase_.set(phase + 1);
  for (int i = 1; i < size_; ++i) places_[i].call->advance();
  work(0);
}

void ThreadTeam::work(int place) {
  for (uint32_t phase; ((phase = phase_.value()) & 1) != 0;) {
    take_on(places_[place], phase);
    if (phase_.spin(phase)) continue;
    for (Place& other : places_) take_on(other, phase);
    learn(phase_.wait(phase, barrier_spin_us_.load(std::memory_order_relaxed)));
  }
}

/// Does the share of that place if no thread has begun it in this phase. As long as a share is not done, the job cannot
/// end; afterwards its caller may be gone.
void ThreadTeam::take_on(Place& place, uint32_t phase) {
  uint32_t free = phase - 1;
  if (place.taken.load(std::memory_order_relaxed) != free ||
      !place.taken.compare_exchange_strong(free, phase + 1, std::memory_order_acq_rel))
    return;
  const uint32_t next = job_(context_, static_cast<int>(&place - places_.data()), phase_.begin);
  const bool last = next == end_;
  const int all = size_;
  if (arrived_.fetch_add(1, std::memory_order_acq_rel) + 1 < all) return;
  arrived_.store(0, std::memory_order_relaxed);
  phase_.begin = next;
  phase_.set(phase + 2 - last);
}

void ThreadTeam::await(int share, uint32_t step) {
  Signal& steps = places_[share].progress;
  for (uint32_t done; (done = steps.value()) <= step;)
    learn(steps.wait(done, barrier_spin_us_.load(std::memory_order_relaxed)));
}

}  // namespace gart::cpu
