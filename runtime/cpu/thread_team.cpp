#include "runtime/cpu/thread_team.h"

#include <pthread.h>

#include <algorithm>
#include <chrono>

namespace gart::cpu {
namespace {

constexpr int64_t kLongSpin = 2000;  // microseconds
constexpr int64_t kShortSpin = 50;
constexpr int kSpinsPerClockRead = 64;

void relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ volatile("yield");
#endif
}

}  // namespace

/// Returns when `value` differs from `old`.
ThreadTeam::Wait ThreadTeam::wait_for_change(const std::atomic<uint32_t>& value, uint32_t old, int64_t spin_us) {
  using Clock = std::chrono::steady_clock;
  for (Clock::time_point deadline = {};;) {
    for (int i = 0; i < kSpinsPerClockRead; ++i) {
      if (value.load(std::memory_order_acquire) != old)
        return deadline == Clock::time_point() ? Wait::instant : Wait::spun;
      relax();
    }
    const Clock::time_point now = Clock::now();
    if (deadline == Clock::time_point()) deadline = now + std::chrono::microseconds(spin_us);
    if (now >= deadline) break;
  }
  sleepers_.fetch_add(1, std::memory_order_seq_cst);
  value.wait(old, std::memory_order_seq_cst);
  sleepers_.fetch_sub(1, std::memory_order_relaxed);
  return Wait::slept;
}

/// After a wait at a barrier. Races between threads lose an adjustment, no more.
void ThreadTeam::learn(Wait wait) {
  if (wait == Wait::instant || crowded_) return;
  const int64_t spin = barrier_spin_us_.load(std::memory_order_relaxed);
  const int64_t next = wait == Wait::slept ? std::max(spin / 4, kShortSpin) : std::min(spin + spin / 8, kLongSpin);
  if (next != spin) barrier_spin_us_.store(next, std::memory_order_relaxed);
}

/// Either the waiter's count of itself comes first and this sees it, or the store comes first and the waiter sees that.
void ThreadTeam::announce(std::atomic<uint32_t>& value, uint32_t now) {
  value.store(now, std::memory_order_seq_cst);
  if (sleepers_.load(std::memory_order_seq_cst) > 0) value.notify_all();
}

ThreadTeam::ThreadTeam(int threads, int count, const std::optional<Cores>& cores)
    : size_(threads),
      crowded_(threads > count),
      progress_(static_cast<size_t>(threads)),
      barrier_spin_us_(crowded_ ? kShortSpin : kLongSpin) {
  [[maybe_unused]] static const int watched = pthread_atfork(nullptr, nullptr, [] { ++forks_; });
  workers_.reserve(static_cast<size_t>(threads) - 1);
  try {
    for (int thread = 1; thread < threads; ++thread) workers_.emplace_back(&ThreadTeam::work, this, thread, cores);
  } catch (...) {
    stop();
    throw;
  }
}

ThreadTeam::~ThreadTeam() { stop(); }

void ThreadTeam::stop() {
  if (born_ != forks_) {  // the workers are another process's: there is nobody to join
    new std::vector<std::thread>(std::move(workers_));
    return;
  }
  stop_ = true;
  announce(epoch_, epoch_.load(std::memory_order_relaxed) + 1);
  for (std::thread& worker : workers_) worker.join();
}

void ThreadTeam::work(int thread, std::optional<Cores> cores) {
  if (cores) cores->bind();
  for (uint32_t seen = 0;; ++seen) {
    wait_for_change(epoch_, seen, crowded_ ? kShortSpin : kLongSpin);
    if (stop_) return;
    job_(context_, thread);
    barrier();
  }
}

void ThreadTeam::run(Job job, void* context) {
  job_ = job;
  context_ = context;
  for (Progress& progress : progress_) progress.steps.store(0, std::memory_order_relaxed);
  announce(epoch_, epoch_.load(std::memory_order_relaxed) + 1);
  job(context, 0);
  barrier();
}

void ThreadTeam::barrier() {
  const uint32_t phase = phase_.load(std::memory_order_relaxed);
  if (arrived_.fetch_add(1, std::memory_order_acq_rel) + 1 < size_) {
    learn(wait_for_change(phase_, phase, barrier_spin_us_.load(std::memory_order_relaxed)));
    return;
  }
  arrived_.store(0, std::memory_order_relaxed);
  announce(phase_, phase + 1);
}

void ThreadTeam::await(int thread, uint32_t step) {
  const std::atomic<uint32_t>& steps = progress_[static_cast<size_t>(thread)].steps;
  for (uint32_t done; (done = steps.load(std::memory_order_acquire)) <= step;)
    learn(wait_for_change(steps, done, barrier_spin_us_.load(std::memory_order_relaxed)));
}

}  // namespace gart::cpu
