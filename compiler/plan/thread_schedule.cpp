#include "compiler/plan/thread_schedule.h"

#include <algorithm>
#include <cmath>

#include "compiler/kernel/machine.h"

namespace gcg {
namespace {

constexpr double kLeastGain = 0.5,
                 kLeastShare = 0.02;  // smaller gains are ignored: microseconds, and fraction of the region's time

/// Simulates threads that walk through steps like runtime/cpu/team_work.cpp.
class Team {
 public:
  Team(const std::vector<ThreadWork>& steps, size_t begin, int threads)
      : steps_(steps), begin_(begin), free_(static_cast<size_t>(threads), 0) {}

  void add(size_t i, int thread) {
    const ThreadWork& step = steps_[i];
    const double parts = thread == kTogether ? std::min(step.tasks, static_cast<double>(free_.size())) : 1;
    const int owner = parts > 1 ? kTogether : std::max(thread, 0);
    double ready = 0;
    if (needs_barrier(i, owner)) barrier();
    for (size_t p : step.after)
      if (is_open(p) && done_[p - begin_].thread != owner)
        ready = std::max(ready, done_[p - begin_].time + kThreadHandover);
    double end = 0;
    if (owner == kTogether) {
      const double longest = step.microseconds * std::ceil(step.tasks / parts) / step.tasks;
      for (size_t t = 0; t < static_cast<size_t>(parts); ++t) end = std::max(end, free_[t] += longest);
    } else {
      double& free = free_[static_cast<size_t>(owner)];
      end = free = std::max(free, ready) + step.microseconds;
    }
    done_.push_back({owner, end, barriers_});
  }

  /// The thread on which the step can begin first; if there are several, the one with the lowest number.
  int best_thread(size_t i) const {
    int best = 0;
    double best_start = 0;
    for (int t = 0; t < static_cast<int>(free_.size()); ++t) {
      double start = free_[static_cast<size_t>(t)];
      for (size_t p : steps_[i].after)
        if (is_open(p) && done_[p - begin_].thread != t)
          start = std::max(start, done_[p - begin_].time + kThreadHandover);
      if (t > 0 && start >= best_start) continue;
      best = t;
      best_start = start;
    }
    return best;
  }

  double end() const { return *std::max_element(free_.begin(), free_.end()) + kThreadBarrier; }

 private:
  struct Done {
    int thread;
    double time;
    int barriers;  // before it
  };

  /// True for a step in the region and after the last barrier.
  bool is_open(size_t step) const { return step >= begin_ && done_[step - begin_].barriers == barriers_; }

  bool needs_barrier(size_t i, int owner) const {
    return std::any_of(steps_[i].after.begin(), steps_[i].after.end(), [&](size_t p) {
      return is_open(p) && (owner == kTogether || done_[p - begin_].thread == kTogether);
    });
  }

  void barrier() {
    std::fill(free_.begin(), free_.end(), end());
    ++barriers_;
  }

  const std::vector<ThreadWork>& steps_;
  const size_t begin_;
  std::vector<double> free_;  // by thread: the time when it has finished its steps
  std::vector<Done> done_;
  int barriers_ = 0;
};

struct Region {
  size_t begin, end;
};

/// Divides the steps into regions. All earlier steps lead to a region's first step, and all later steps depend on it.
/// Moving steps between regions would therefore gain nothing.
std::vector<Region> regions_of(const std::vector<ThreadWork>& steps) {
  const size_t count = steps.size();
  std::vector<size_t> first_user(count, count);
  std::vector<bool> goes_on(count, false);  // by step: True if a step that reads its results has readers itself
  for (size_t i = count; i-- > 0;)
    for (size_t p : steps[i].after) {
      first_user[p] = i;
      goes_on[p] = goes_on[p] || first_user[i] < count;
    }
  // A single step without readers is ignored if its operands have other readers that go on, for example a step that
  // writes an output.
  for (size_t i = 0; i < count; ++i)
    if (const auto& after = steps[i].after;
        first_user[i] == count && !after.empty() &&
        std::all_of(after.begin(), after.end(), [&](size_t p) { return goes_on[p]; }))
      first_user[i] = i;
  std::vector<bool> leads(count);  // by step: True if all later steps depend on it, directly or through others
  size_t oldest = count;           // over later steps: the least of 1 + the last step that each waits for
  for (size_t i = count; i-- > 0;) {
    leads[i] = oldest > i;
    const auto& after = steps[i].after;
    oldest = std::min(oldest, after.empty() ? 0 : *std::max_element(after.begin(), after.end()) + 1);
  }
  std::vector<Region> regions = {{0, count}};
  size_t latest = 0;  // the latest position of the first reader of an earlier step
  for (size_t i = 0; i < count; ++i) {
    if (i > 0 && leads[i] && latest <= i) {
      regions.back().end = i;
      regions.push_back({i, count});
    }
    latest = std::max(latest, first_user[i]);
  }
  return regions;
}

class Scheduler {
 public:
  Scheduler(const std::vector<ThreadWork>& steps, int threads) : steps_(steps), count_(threads) {}

  ThreadSchedule run() {
    out_.threads.assign(steps_.size(), kTogether);
    for (const Region& region : regions_of(steps_)) place(region);
    return std::move(out_);
  }

 private:
  /// Steps with several tasks and more than `heavy` microseconds run on all threads, the others on one thread each.
  double try_to(const Region& region, double heavy, std::vector<int>& threads) const {
    Team team(steps_, region.begin, count_);
    threads.clear();
    for (size_t i = region.begin; i < region.end; ++i) {
      const bool shared = steps_[i].tasks > 1 && steps_[i].microseconds > heavy;
      threads.push_back(shared ? kTogether : team.best_thread(i));
      team.add(i, threads.back());
    }
    return team.end();
  }

  double together(const Region& region) const {
    Team team(steps_, region.begin, count_);
    for (size_t i = region.begin; i < region.end; ++i) team.add(i, kTogether);
    return team.end();
  }

  void place(const Region& region) {
    const double intra = together(region);
    double least = intra - std::max(kLeastGain, kLeastShare * intra);
    std::vector<int> best, threads;
    for (const double heavy : {0.0, 1.0, 3.0, 10.0, 30.0, 100.0, 1e30}) {
      const double time = try_to(region, heavy, threads);
      if (time >= least) continue;
      least = time;
      best = threads;
    }
    out_.microseconds_intra += intra;
    out_.microseconds += best.empty() ? intra : least;
    std::copy(best.begin(), best.end(), out_.threads.begin() + static_cast<std::ptrdiff_t>(region.begin));
  }

  const std::vector<ThreadWork>& steps_;
  const int count_;
  ThreadSchedule out_;
};

}  // namespace

ThreadSchedule schedule_threads(const std::vector<ThreadWork>& steps, int threads) {
  return Scheduler(steps, threads).run();
}

}  // namespace gcg
