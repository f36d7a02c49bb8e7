// Threads that work through one job together, in step: a caller, and pool threads that it holds for a while.
//
// A waiting thread spins, then sleeps in the kernel. As long as no thread sleeps, neither side makes a system call. The
// spin time at barriers adapts. It shrinks where waits end in sleep: on a busy machine a spinning thread keeps the
// thread that it waits for from running. The pool sets the longest spin time, which may be 0.
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

namespace gart::cpu {

inline constexpr int64_t kLongSpin = 2000;  // microseconds
inline constexpr int64_t kShortSpin = 50;   // the spin time if there are more threads than cores

/// A number that one thread changes and others wait for. It has its own cache line, because it moves between cores at
/// every step.
class alignas(64) Signal {
 public:
  enum class Wait { instant, spun, slept };
  uint32_t value() const { return value_.load(std::memory_order_acquire); }
  /// A set() must follow before any thread waits.
  void reset() { value_.store(0, std::memory_order_relaxed); }
  void set(uint32_t value);
  void advance() { set(value_.load(std::memory_order_relaxed) + 1); }
  /// Returns when the value differs from `old`. Spins for at most `spin_us` microseconds, and only while `limit` is
  /// greater than `index`.
  Wait wait(uint32_t old, int64_t spin_us, const std::atomic<int>* limit = nullptr, int index = 0);

 private:
  std::atomic<uint32_t> value_{0};
  std::atomic<uint32_t> sleepers_{0};  // number of threads that have stopped spinning
};

class ThreadTeam {
 public:
  /// A team of at most `most` threads that spin for at most `spin_us` microseconds.
  ThreadTeam(int most, int64_t spin_us)
      : most_spin_us_(spin_us), progress_(static_cast<size_t>(most)), barrier_spin_us_(spin_us) {
    calls_.reserve(static_cast<size_t>(most));
  }

  int size() const { return static_cast<int>(calls_.size()) + 1; }

  /// Sets the threads that work with the caller, which is thread 0. Thread i + 1 comes to work() once for each change
  /// of calls_[i].
  void dismiss() { calls_.clear(); }
  void take(Signal& call) { calls_.push_back(&call); }
  void work(int thread);

  /// Calls job(context, thread) on every thread and returns when all calls have returned. `job` must not throw.
  using Job = void (*)(void* context, int thread);
  void run(Job job, void* context);

  /// Called inside a job; all threads must call it the same number of times. Returns when all threads have arrived.
  /// Their earlier writes are then visible.
  void barrier();

  /// Called inside a job. signal() states that `thread` has finished everything up to `step`; await() waits for that.
  /// Steps ascend.
  void signal(int thread, uint32_t step) { progress_[static_cast<size_t>(thread)].set(step + 1); }
  void await(int thread, uint32_t step);

 private:
  void learn(Signal::Wait wait);

  const int64_t most_spin_us_;
  std::vector<Signal> progress_;  // per thread: the last step that it signalled in the current job
  std::vector<Signal*> calls_;
  Job job_ = nullptr;
  void* context_ = nullptr;
  std::atomic<int64_t> barrier_spin_us_;     // spin time at barriers; any thread may adjust it
  alignas(64) std::atomic<int> arrived_{0};  // number of threads that have arrived at the current barrier
  Signal phase_;                             // number of barriers passed
};

}  // namespace gart::cpu
