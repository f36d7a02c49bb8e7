// A fixed team of threads that work through one job together, in step. The caller is thread 0.
//
// Waiting: spinning, then sleeping in the kernel; neither side makes a system call while nobody sleeps. Between jobs a
// worker spins for 2 ms, which covers the gaps within a run and between runs that follow one another. At a barrier the
// patience is learned: where waits end in sleep (the machine is busy, and whoever spins keeps from running whom it
// waits for) it shrinks.
#pragma once

#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

#include "runtime/cpu/cores.h"

namespace gart::cpu {

class ThreadTeam {
 public:
  /// Starts threads - 1 workers on these cores (null: on any), which are `count`. Throws std::system_error if the
  /// system refuses one.
  ThreadTeam(int threads, int count, const Cores* cores);
  ~ThreadTeam();
  ThreadTeam(const ThreadTeam&) = delete;
  ThreadTeam& operator=(const ThreadTeam&) = delete;

  int size() const { return size_; }

  /// One owner at a time; run and barrier are the owner's. False: somebody else has it, or this is a child of fork(),
  /// which has no thread but the one that forked.
  bool try_acquire() { return born_ == forks_ && !busy_.test_and_set(std::memory_order_acquire); }
  void release() { busy_.clear(std::memory_order_release); }

  /// Calls job(context, thread) on every thread and returns when all have returned. `job` must not throw.
  using Job = void (*)(void* context, int thread);
  void run(Job job, void* context);

  /// Inside a job, called by all threads equally often: returns when all have come; what they wrote before is then
  /// visible.
  void barrier();

 private:
  void work(int thread, const Cores* cores);
  void stop();
  enum class Wait { instant, spun, slept };
  Wait wait_for_change(const std::atomic<uint32_t>& value, uint32_t old, int64_t spin_us);
  void learn(Wait wait);
  void announce(std::atomic<uint32_t>& value, uint32_t now);

  static inline int forks_ = 0;  // between the first process of the program and this one, since there are teams
  const int born_ = forks_;
  const int size_;
  const bool crowded_;  // more threads than cores: there is no point in spinning
  std::atomic_flag busy_ = ATOMIC_FLAG_INIT;
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

/// Owns a team for a while, if there is one and nobody else has it.
class TeamLease {
 public:
  explicit TeamLease(ThreadTeam* team) : team_(team != nullptr && team->try_acquire() ? team : nullptr) {}
  ~TeamLease() {
    if (team_ != nullptr) team_->release();
  }
  TeamLease(const TeamLease&) = delete;
  TeamLease& operator=(const TeamLease&) = delete;
  ThreadTeam* get() const { return team_; }

 private:
  ThreadTeam* team_;
};

}  // namespace gart::cpu
