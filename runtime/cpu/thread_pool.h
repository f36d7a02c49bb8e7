// The threads of a pool of CPU cores, divided among the callers that work there at the same time.
//
// A caller gets helpers for one run. A single caller gets all of them. Several callers get a share each, so that no
// more threads work than the pool has. With as many callers as threads, each works alone: concurrent runs use threads
// better than one parallel run. The pool estimates the number of callers from the number that were inside at the same
// time recently, so a caller still counts between two runs.
#pragma once

#include <atomic>
#include <chrono>
#include <list>
#include <mutex>
#include <optional>
#include <thread>

#include "runtime/cpu/cores.h"
#include "runtime/cpu/thread_team.h"
#include "runtime/origin.h"

namespace gart::cpu {

class ThreadPool {
 public:
  /// A pool for `replicas` concurrent runs of `threads` threads each. Waiting threads spin for at most `spin_us`
  /// microseconds. Callers bring one thread each; the pool starts the others on `cores` (nullopt: on this thread's
  /// cores). Throws std::system_error if the system refuses a thread.
  ThreadPool(int replicas, int threads, int64_t spin_us, const std::optional<Cores>& cores);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  /// True if the pool's threads belong to this process.
  bool here() const { return origin_.here(); }

  /// Registers a caller and returns the team that it has until leave(). Null means that the caller works alone. This
  /// happens if no threads are left, or in a child of fork(), which has only the thread that forked. `excludes`: other
  /// callers wait for this one, so it gets all threads that are free.
  ThreadTeam* enter(bool excludes = false);
  void leave(ThreadTeam* team);

 private:
  /// A pool thread. Between jobs it waits and spins, unless callers need its core. kLongSpin covers the gaps within a
  /// run and between consecutive runs.
  struct Helper {
    Helper(int most, int64_t spin_us) : own_team(most, spin_us) {}
    Signal call;
    ThreadTeam own_team;  // used by the caller whose first helper this is
    // Null: this helper is free. The helper may wake late, when it has left its team; it reads `team` and `place`
    // without the mutex.
    std::atomic<ThreadTeam*> team{nullptr};
    std::atomic<int> place{0};  // its share in the team
    std::thread thread;
  };

  void work(Helper& helper, int index, std::optional<Cores> cores);
  void stop();
  int learn_callers();

  const Origin origin_;
  const int all_, most_;  // all_: number of threads, callers and helpers together; most_: the most threads in one team
  const int64_t spin_us_;
  std::atomic<bool> stop_{false};
  // Number of helpers for which callers leave cores; helpers with low numbers are taken first.
  std::atomic<int> useful_;
  std::list<Helper> helpers_;
  std::mutex mutex_;            // guards the members below and each helper's team
  int inside_ = 0, taken_ = 0;  // number of callers inside; number of helpers taken
  int callers_ = 1;             // assumed number of callers
  // Since `callers_` callers were last inside together: the number of arrivals, and the most callers inside together.
  int came_ = 0, met_ = 0;
  std::chrono::steady_clock::time_point all_met_;
};

}  // namespace gart::cpu
