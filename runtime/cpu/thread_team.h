// Threads that work through one job together, in step: a caller, and threads of a pool that he has for a while.
//
// Waiting: spinning, then sleeping in the kernel; neither side makes a system call while nobody sleeps. At a barrier
// the patience is learned: where waits end in sleep (the machine is busy, and whoever spins keeps from running whom it
// waits for) it shrinks. How long threads spin at most, 0 included, is the pool's to say.
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

namespace gart::cpu {

inline constexpr int64_t kLongSpin = 2000;  // microseconds
inline constexpr int64_t kShortSpin = 50;   // where threads are more than cores

/// A number that one thread changes and others wait for. On a cache line of its own: it changes hands at every step.
class alignas(64) Signal {
 public:
  enum class Wait { instant, spun, slept };
  uint32_t value() const { return value_.load(std::memory_order_acquire); }
  /// To be followed by a set() before anybody waits.
  void reset() { value_.store(0, std::memory_order_relaxed); }
  void set(uint32_t value);
  void advance() { set(value_.load(std::memory_order_relaxed) + 1); }
  /// Returns when the value differs from `old`. Spins for so long, and while `limit` is more than `index`.
  Wait wait(uint32_t old, int64_t spin_us, const std::atomic<int>* limit = nullptr, int index = 0);

 private:
  std::atomic<uint32_t> value_{0};
  std::atomic<uint32_t> sleepers_{0};  // that have given up spinning
};

class ThreadTeam {
 public:
  /// Of at most `most` threads, that spin for at most so long.
  ThreadTeam(int most, int64_t spin_us)
      : most_spin_us_(spin_us), progress_(static_cast<size_t>(most)), barrier_spin_us_(spin_us) {
    calls_.reserve(static_cast<size_t>(most));
  }

  int size() const { return static_cast<int>(calls_.size()) + 1; }

  /// Who works in it beside the caller, thread 0: thread i + 1 comes to work() once for each change of calls[i].
  void dismiss() { calls_.clear(); }
  void take(Signal& call) { calls_.push_back(&call); }
  void work(int thread);

  /// Calls job(context, thread) on every thread and returns when all have returned. `job` must not throw.
  using Job = void (*)(void* context, int thread);
  void run(Job job, void* context);

  /// Inside a job, called by all threads equally often: returns when all have come; what they wrote before is then
  /// visible.
  void barrier();

  /// Inside a job: `thread` is done with everything up to `step`; await returns when that was said of it. Steps ascend.
  void signal(int thread, uint32_t step) { progress_[static_cast<size_t>(thread)].set(step + 1); }
  void await(int thread, uint32_t step);

 private:
  void learn(Signal::Wait wait);

  const int64_t most_spin_us_;
  std::vector<Signal> progress_;  // per thread: steps of the current job up to the last one signalled
  std::vector<Signal*> calls_;
  Job job_ = nullptr;
  void* context_ = nullptr;
  std::atomic<int64_t> barrier_spin_us_;     // patience at barriers; any thread may adjust it
  alignas(64) std::atomic<int> arrived_{0};  // at the current barrier
  Signal phase_;                             // number of barriers passed
};

}  // namespace gart::cpu
