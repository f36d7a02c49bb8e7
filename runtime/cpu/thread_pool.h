// The threads of a pool of CPU cores, shared out among those who work there at the same time.
//
// A caller gets helpers for one run. He who is alone gets all; of several each gets his part, so that no more threads
// work than the pool has, and with as many callers as threads each works by himself: threads are better used by runs
// beside each other than by one. How many callers there are is learned from those who meet: for a while after that each
// is still one, whether he is between two runs or not.
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
  /// For `replicas` runs of `threads` threads beside each other, which wait spinning for at most `spin_us`. Starts what
  /// callers do not bring, on these cores (nullopt: on those of this thread). Throws std::system_error if the system
  /// refuses one.
  ThreadPool(int replicas, int threads, int64_t spin_us, const std::optional<Cores>& cores);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  /// Its threads are this process's.
  bool here() const { return origin_.here(); }

  /// A caller comes: the team that is his until he leaves. Null: he works alone, because there are no threads left for
  /// him, or this is a child of fork(), which has no thread but the one that forked.
  ThreadTeam* enter();
  void leave(ThreadTeam* team);

 private:
  /// Between jobs it waits, spinning (kLongSpin covers the gaps within a run and between runs that follow one another),
  /// but not where callers need its core.
  struct Helper {
    Helper(int most, int64_t spin_us) : own(most, spin_us) {}
    Signal call;
    ThreadTeam own;              // of the caller whose first helper it is
    ThreadTeam* team = nullptr;  // null: it is free
    int place = 0;               // in the team
    std::thread thread;
  };

  void work(Helper& helper, int index, std::optional<Cores> cores);
  void stop();
  int learn_callers();

  const Origin origin_;
  const int all_, most_;  // threads: callers and helpers, in one team
  const int64_t spin_us_;
  std::atomic<bool> stop_{false};
  std::atomic<int> useful_;  // helpers that callers leave cores for; the first ones are taken first
  std::list<Helper> helpers_;
  std::mutex mutex_;            // what follows, and who is whose
  int inside_ = 0, taken_ = 0;  // callers; helpers
  int callers_ = 1;             // that are taken to be there
  // Since so many were last there together: callers that came, and the most inside together.
  int came_ = 0, met_ = 0;
  std::chrono::steady_clock::time_point all_met_;
};

}  // namespace gart::cpu
