// Threads that work through one job together, in step: a caller, and pool threads that it holds for a while.
//
// A job is a sequence of sections. Each section has one share per thread of the team, and the next one begins when all
// shares are done. A thread does its own share first. If it then waits for long, it takes over shares that no thread
// has begun, because on a busy machine their threads may have no core. So only a thread that has begun a share can keep
// others waiting, and a job may end before some threads have come to it.
//
// A waiting thread spins, then sleeps in the kernel. Neither side makes a system call while no thread sleeps. The spin
// time at barriers adapts. It shrinks if waits end in sleep: on a busy machine, a spinning thread may hold the core
// that the awaited thread needs. The pool sets the longest spin time, which may be 0.
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
  /// Spins for a few microseconds at most. True if the value differs from `old`.
  bool spin(uint32_t old) const;
  /// Returns when the value differs from `old`. Spins for at most `spin_us`, and only while `limit` is more than
  /// `index`.
  Wait wait(uint32_t old, int64_t spin_us, const std::atomic<int>* limit = nullptr, int index = 0);

 private:
  std::atomic<uint32_t> value_{0};
  std::atomic<uint32_t> sleepers_{0};  // number of threads that have stopped spinning
};

class ThreadTeam {
 public:
  /// A team of at most `most` threads that spin for at most `spin_us` microseconds.
  ThreadTeam(int most, int64_t spin_us)
      : most_spin_us_(spin_us), places_(static_cast<size_t>(most)), barrier_spin_us_(spin_us) {}

  int size() const { return size_; }

  /// Sets the threads that work with the caller, which has the first place. Each change of `call` makes the thread of
  /// the next place call work(). That call may come late, even during a later job.
  void dismiss() { size_ = 1; }
  void take(Signal& call) { places_[size_++].call = &call; }
  /// Returns when the job has ended.
  void work(int place);

  /// Does job(context, share, step) for every share of a section that begins at that step. It returns the first step of
  /// the next section, the same for all shares. Returns when the section that ends at `end` is done; all earlier writes
  /// are then visible. `job` must not throw.
  using Job = uint32_t (*)(void* context, int share, uint32_t step);
  void run(Job job, void* context, uint32_t begin, uint32_t end);

  /// Inside a job: signal() says that `share` is done up to `step`; await() waits for that. Steps ascend.
  void signal(int share, uint32_t step) { places_[share].progress.set(step + 1); }
  void await(int share, uint32_t step);

 private:
  struct Place {
    Signal progress;                 // steps of the current job up to the last one signalled
    std::atomic<uint32_t> taken{1};  // phase - 1: this share is free in phase `phase`; phase + 1: a thread has begun it
    Signal* call = nullptr;
  };
  struct Phase : Signal {  // odd: a section is being done; even: no job
    uint32_t begin = 0;    // the section's first step
  };
  void take_on(Place& place, uint32_t phase);
  void learn(Signal::Wait wait);

  const int64_t most_spin_us_;
  std::vector<Place> places_;
  int size_ = 1;
  Job job_ = nullptr;
  void* context_ = nullptr;
  uint32_t end_ = 0;
  std::atomic<int64_t> barrier_spin_us_;     // spin time at barriers; any thread may adjust it
  alignas(64) std::atomic<int> arrived_{0};  // number of shares of the section that are done
  Phase phase_;
};

}  // namespace gart::cpu
