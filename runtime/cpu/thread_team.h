// A fixed team of threads that work through one job together, in step. The caller is thread 0.
//
// Waiting: spinning, then sleeping in the kernel; neither side makes a system call while nobody sleeps. Between jobs a
// worker spins for 2 ms, which covers the gaps within a run and between runs that follow one another. At a barrier the
// patience is learned: where waits end in sleep (the machine is busy, and whoever spins keeps from running whom it
// waits for) it shrinks.
#pragma once

#include <atomic>
#include <cstdint>
#include <list>
#include <optional>
#include <thread>
#include <vector>

#include "runtime/cpu/cores.h"

namespace gart::cpu {

class ThreadTeam {
 public:
  /// Starts threads - 1 workers on these cores (nullopt: on those of this thread), which are `count`. Throws
  /// std::system_error if the system refuses one.
  ThreadTeam(int threads, int count, const std::optional<Cores>& cores);
  ~ThreadTeam();
  ThreadTeam(const ThreadTeam&) = delete;
  ThreadTeam& operator=(const ThreadTeam&) = delete;

  int size() const { return size_; }
  /// Its threads are this process's.
  bool here() const { return born_ == forks_; }

  /// Counts somebody who works. True: he is the only one, and run, barrier and await are his. False: others came before
  /// him, or this is a child of fork(), which has no thread but the one that forked.
  bool enter() { return users_.fetch_add(1, std::memory_order_acquire) == 0 && here(); }
  void leave() { users_.fetch_sub(1, std::memory_order_release); }

  /// Calls job(context, thread) on every thread and returns when all have returned. `job` must not throw.
  using Job = void (*)(void* context, int thread);
  void run(Job job, void* context);

  /// Inside a job, called by all threads equally often: returns when all have come; what they wrote before is then
  /// visible.
  void barrier();

  /// Inside a job: `thread` is done with everything up to `step`; await returns when that was said of it. Steps ascend.
  void signal(int thread, uint32_t step) { announce(progress_[static_cast<size_t>(thread)].steps, step + 1); }
  void await(int thread, uint32_t step);

 private:
  void work(int thread, std::optional<Cores> cores);
  void stop();
  enum class Wait { instant, spun, slept };
  Wait wait_for_change(const std::atomic<uint32_t>& value, uint32_t old, int64_t spin_us);
  void learn(Wait wait);
  void announce(std::atomic<uint32_t>& value, uint32_t now);

  static inline int forks_ = 0;  // between the first process of the program and this one, since there are teams
  const int born_ = forks_;
  const int size_;
  const bool crowded_;  // more threads than cores: there is no point in spinning
  struct alignas(64) Progress {
    std::atomic<uint32_t> steps{0};
  };
  std::vector<Progress> progress_;  // per thread: steps of the current job up to the last one signalled
  std::atomic<int> users_{0};
  Job job_ = nullptr;  // of the current epoch
  void* context_ = nullptr;
  bool stop_ = false;
  std::atomic<int> sleepers_{0};          // threads that have given up spinning
  std::atomic<int64_t> barrier_spin_us_;  // patience at barriers; any thread may adjust it
  // Each on its own cache line: they change hands at every step.
  alignas(64) std::atomic<uint32_t> epoch_{0};  // number of jobs begun
  alignas(64) std::atomic<int> arrived_{0};     // at the current barrier
  alignas(64) std::atomic<uint32_t> phase_{0};  // number of barriers passed
  alignas(64) std::vector<std::thread> workers_;
};

/// Owns the first team that nobody else has for a while, if there is one.
class TeamLease {
 public:
  explicit TeamLease(std::list<ThreadTeam>& teams) {
    for (ThreadTeam& team : teams) {
      entered_ = &team;
      owns_ = team.enter();
      if (owns_ || teams.size() == 1) return;
      team.leave();
    }
    entered_ = nullptr;
  }
  ~TeamLease() {
    if (entered_ != nullptr) entered_->leave();
  }
  TeamLease(const TeamLease&) = delete;
  TeamLease& operator=(const TeamLease&) = delete;
  ThreadTeam* get() const { return owns_ ? entered_ : nullptr; }

 private:
  ThreadTeam* entered_ = nullptr;  // a single team counts those who work without it, too
  bool owns_ = false;
};

}  // namespace gart::cpu
