#include "runtime/cpu/thread_team.h"

#include <algorithm>
#include <chrono>

#include "runtime/relax.h"

namespace gart::cpu {
namespace {

constexpr int kSpinsPerClockRead = 64;

}  // namespace

Signal::Wait Signal::wait(uint32_t old, int64_t spin_us, const std::atomic<int>* limit, int index) {
  using Clock = std::chrono::steady_clock;
  for (Clock::time_point deadline = {};;) {
    for (int i = 0; i < kSpinsPerClockRead; ++i) {
      if (value() != old) return deadline == Clock::time_point() ? Wait::instant : Wait::spun;
      relax();
    }
    const Clock::time_point now = Clock::now();
    if (deadline == Clock::time_point()) deadline = now + std::chrono::microseconds(spin_us);
    if (now >= deadline || (limit != nullptr && limit->load(std::memory_order_relaxed) <= index)) break;
  }
  sleepers_.fetch_add(1, std::memory_order_seq_cst);
  value_.wait(old, std::memory_order_seq_cst);
  sleepers_.fetch_sub(1, std::memory_order_relaxed);
  return Wait::slept;
}

/// Either the waiter counts itself first and this function sees that, or the store comes first and the waiter sees the
/// new value.
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

void ThreadTeam::run(Job job, void* context) {
  job_ = job;
  context_ = context;
  for (Signal& progress : progress_) progress.reset();
  for (Signal* call : calls_) call->advance();
  work(0);
}

void ThreadTeam::work(int thread) {
  job_(context_, thread);
  barrier();
}

void ThreadTeam::barrier() {
  const uint32_t phase = phase_.value();
  const int all = size();  // once a thread has arrived, another caller may use the team
  if (arrived_.fetch_add(1, std::memory_order_acq_rel) + 1 < all) {
    learn(phase_.wait(phase, barrier_spin_us_.load(std::memory_order_relaxed)));
    return;
  }
  arrived_.store(0, std::memory_order_relaxed);
  phase_.set(phase + 1);
}

void ThreadTeam::await(int thread, uint32_t step) {
  Signal& steps = progress_[static_cast<size_t>(thread)];
  for (uint32_t done; (done = steps.value()) <= step;)
    learn(steps.wait(done, barrier_spin_us_.load(std::memory_order_relaxed)));
}

}  // namespace gart::cpu
