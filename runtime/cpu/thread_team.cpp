#include "runtime/cpu/thread_team.h"

#include <chrono>

#include "runtime/cpu/features.h"

namespace gart {
namespace {

constexpr std::chrono::microseconds kSpinTime{2000};
constexpr std::chrono::microseconds kCrowdedSpinTime{20};
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
void ThreadTeam::wait_for_change(const std::atomic<uint32_t>& value, uint32_t old) {
  using Clock = std::chrono::steady_clock;
  for (Clock::time_point deadline = {};;) {
    for (int i = 0; i < kSpinsPerClockRead; ++i) {
      if (value.load(std::memory_order_acquire) != old) return;
      relax();
    }
    const Clock::time_point now = Clock::now();
    if (deadline == Clock::time_point()) deadline = now + (crowded_ ? kCrowdedSpinTime : kSpinTime);
    if (now >= deadline) break;
  }
  sleepers_.fetch_add(1, std::memory_order_seq_cst);
  value.wait(old, std::memory_order_seq_cst);
  sleepers_.fetch_sub(1, std::memory_order_relaxed);
}

/// Either the waiter's count of itself comes first and this sees it, or the store comes first and the waiter sees that.
void ThreadTeam::announce(std::atomic<uint32_t>& value, uint32_t now) {
  value.store(now, std::memory_order_seq_cst);
  if (sleepers_.load(std::memory_order_seq_cst) > 0) value.notify_all();
}

ThreadTeam::ThreadTeam(int threads) : size_(threads), crowded_(threads > usable_cpus()) {
  workers_.reserve(static_cast<size_t>(threads) - 1);
  try {
    for (int thread = 1; thread < threads; ++thread) workers_.emplace_back(&ThreadTeam::work, this, thread);
  } catch (...) {
    stop();
    throw;
  }
}

ThreadTeam::~ThreadTeam() { stop(); }

void ThreadTeam::stop() {
  stop_ = true;
  announce(epoch_, epoch_.load(std::memory_order_relaxed) + 1);
  for (std::thread& worker : workers_) worker.join();
}

void ThreadTeam::work(int thread) {
  for (uint32_t seen = 0;; ++seen) {
    wait_for_change(epoch_, seen);
    if (stop_) return;
    job_(context_, thread);
    barrier();
  }
}

void ThreadTeam::run(Job job, void* context) {
  job_ = job;
  context_ = context;
  announce(epoch_, epoch_.load(std::memory_order_relaxed) + 1);
  job(context, 0);
  barrier();
}

void ThreadTeam::barrier() {
  const uint32_t phase = phase_.load(std::memory_order_relaxed);
  if (arrived_.fetch_add(1, std::memory_order_acq_rel) + 1 < size_) {
    wait_for_change(phase_, phase);
    return;
  }
  arrived_.store(0, std::memory_order_relaxed);
  announce(phase_, phase + 1);
}

}  // namespace gart
