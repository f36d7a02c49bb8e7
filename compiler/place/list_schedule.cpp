#include "compiler/place/list_schedule.h"

#include <algorithm>
#include <functional>
#include <set>
#include <utility>

namespace gcg::place {
namespace {

size_t at(int number) { return static_cast<size_t>(number); }

/// The number of ready groups that ETF and min-min compare: those with the largest ranks.
size_t most_ready(const Problem& problem) { return std::clamp<size_t>(40'000 / (problem.groups.size() + 1), 4, 32); }

/// The groups placed so far.
class Schedule {
 public:
  explicit Schedule(const Problem& problem)
      : problem_(problem),
        slots_(problem.devices.size()),
        link_free_(problem.links.size()),
        used_bytes_(problem.devices.size()),
        live_bytes_(problem.devices.size()),
        copies_(problem.values.size()),
        end_(problem.groups.size()),
        begin_(problem.groups.size()),
        device_(problem.groups.size(), -1) {}

  int device_of(int group) const { return device_[at(group)]; }  // -1: not placed yet

  struct Estimate {
    double begin = 0, end = kUnsupported;
    int64_t missing = 0;  // bytes
  };

  Estimate estimate(int group, int device) const {
    const Group& g = problem_.groups[at(group)];
    double ready = 0;
    for (int v : g.inputs) ready = std::max(ready, arrival(v, device));
    const double us = problem_.operation_us(group, device, device_);
    const double begin = first_gap(device, ready, us);
    return {begin, begin + us, missing(g, device)};
  }

  void assign(int group, int device) {
    const Group& g = problem_.groups[at(group)];
    const Estimate e = estimate(group, device);
    for (int v : g.inputs) fetch(v, device);
    for (int w : g.weights)
      if (resident_.insert({device, w}).second) used_bytes_[at(device)] += problem_.weights[at(w)];
    live_bytes_[at(device)] = std::max(live_bytes_[at(device)], live(g));
    auto& slots = slots_[at(device)];
    const Slot slot{e.begin, e.end};
    slots.insert(std::upper_bound(slots.begin(), slots.end(), slot,
                                  [](const Slot& a, const Slot& b) { return a.begin < b.begin; }),
                 slot);
    begin_[at(group)] = e.begin;
    end_[at(group)] = e.end;
    device_[at(group)] = device;
    for (int v : g.outputs) copies_[at(v)].push_back({device, e.end});
  }

  Placement placement(const Ranks& ranks) const {
    Placement out{device_, ranks.topological()};
    std::sort(out.order.begin(), out.order.end(), [&](int a, int b) {
      if (begin_[at(a)] != begin_[at(b)]) return begin_[at(a)] < begin_[at(b)];
      return ranks.topological_position(a) < ranks.topological_position(b);
    });
    return out;
  }

 private:
  struct Slot {
    double begin, end;
  };
  struct Copy {
    int device;
    double arrival;
  };

  double arrival(int value, int device) const {
    const Value& v = problem_.values[at(value)];
    for (const Copy& c : copies_[at(value)])
      if (c.device == device) return c.arrival;
    const int from = v.producer == kCaller ? v.fixed_device : device_[at(v.producer)];
    if (from == kAnywhere || from == device) return 0;
    const double ready = v.producer == kCaller ? 0 : end_[at(v.producer)];
    return std::max(ready, problem_.links_queue ? link_free_[link(from, device)] : 0) +
           problem_.link(from, device).time(v.bytes);
  }

  void fetch(int value, int device) {
    for (const Copy& c : copies_[at(value)])
      if (c.device == device) return;
    const double there = arrival(value, device);
    const Value& v = problem_.values[at(value)];
    const int from = v.producer == kCaller ? v.fixed_device : device_[at(v.producer)];
    if (from != kAnywhere && from != device) link_free_[link(from, device)] = there;
    copies_[at(value)].push_back({device, there});
  }

  /// The earliest time, from `ready` on, at which the device is free for `us` microseconds.
  double first_gap(int device, double ready, double us) const {
    const auto& slots = slots_[at(device)];
    auto next = std::upper_bound(slots.begin(), slots.end(), ready,
                                 [](double time, const Slot& slot) { return time < slot.begin; });
    double begin = next == slots.begin() ? ready : std::max(ready, std::prev(next)->end);
    constexpr int kMostGaps = 64;
    for (int i = 0; next != slots.end() && begin + us > next->begin; ++next, ++i) {
      begin = std::max(begin, next->end);
      if (i == kMostGaps) return std::max(begin, slots.back().end);
    }
    return begin;
  }

  int64_t live(const Group& g) const {
    int64_t bytes = g.working_bytes;
    for (int v : g.inputs) bytes += problem_.values[at(v)].bytes;
    for (int v : g.outputs) bytes += problem_.values[at(v)].bytes;
    return bytes;
  }

  int64_t missing(const Group& g, int device) const {
    const int64_t memory = problem_.devices[at(device)].memory_bytes;
    if (memory == kEnough) return 0;
    int64_t bytes = used_bytes_[at(device)] + std::max(live_bytes_[at(device)], live(g));
    for (int w : g.weights)
      if (resident_.count({device, w}) == 0) bytes += problem_.weights[at(w)];
    return std::max<int64_t>(0, bytes - memory);
  }

  size_t link(int from, int to) const { return at(from) * problem_.devices.size() + at(to); }

  const Problem& problem_;
  std::vector<std::vector<Slot>> slots_;
  std::vector<double> link_free_;
  std::vector<int64_t> used_bytes_, live_bytes_;  // per device: bytes of weights; bytes of the largest live set
  std::set<std::pair<int, int>> resident_;        // device, weight
  std::vector<std::vector<Copy>> copies_;
  std::vector<double> end_, begin_;
  std::vector<int> device_;
};

/// PEFT's table: the least time from the end of a group on each device to the end of the run.
std::vector<double> optimistic_costs(const Problem& problem, const Ranks& ranks) {
  const size_t devices = problem.devices.size();
  std::vector<double> costs(problem.groups.size() * devices);
  for (auto g = ranks.topological().rbegin(); g != ranks.topological().rend(); ++g)
    for (int v : problem.groups[at(*g)].outputs)
      for (int r : problem.values[at(v)].readers) {
        const Group& reader = problem.groups[at(r)];
        const double* of_reader = &costs[at(r) * devices];
        double best = kUnsupported;
        for (size_t d = 0; d < devices; ++d) best = std::min(best, of_reader[d] + reader.us[d]);
        for (size_t d = 0; d < devices; ++d) {
          const double cost = std::min(of_reader[d] + reader.us[d], best + ranks.mean_transfer(v));
          costs[at(*g) * devices + d] = std::max(costs[at(*g) * devices + d], cost);
        }
      }
  return costs;
}

using Key = std::function<double(const Schedule&, int group, int device, const Schedule::Estimate&)>;

/// The device with the least key among those with enough memory. If there is none: the device that lacks the least
/// memory.
struct Choice {
  int group = -1, device = -1;
  int64_t missing = 0;
  double key = kUnsupported;
};

void consider(const Problem& problem, const Schedule& schedule, int group, const Key& key, Choice& best) {
  for (int d = 0; d < problem.device_count(); ++d) {
    if (!problem.groups[at(group)].runs_on(d)) continue;
    const Schedule::Estimate e = schedule.estimate(group, d);
    const double k = key(schedule, group, d, e);
    if (best.device < 0 || e.missing < best.missing || (e.missing == best.missing && k < best.key))
      best = {group, d, e.missing, k};
  }
}

/// Places ready groups in the order of `rank`.
Placement by_rank(const Problem& problem, const Ranks& ranks, const std::vector<double>& rank, const Key& key) {
  Schedule schedule(problem);
  const auto first = [&](int a, int b) {
    if (rank[at(a)] != rank[at(b)]) return rank[at(a)] > rank[at(b)];
    return ranks.topological_position(a) < ranks.topological_position(b);
  };
  std::set<int, decltype(first)> ready(first);
  std::vector<int> open(problem.groups.size());
  for (int g = 0; g < problem.group_count(); ++g) {
    for (int v : problem.groups[at(g)].inputs) open[at(g)] += problem.values[at(v)].producer != kCaller;
    if (open[at(g)] == 0) ready.insert(g);
  }
  while (!ready.empty()) {
    const int g = *ready.begin();
    ready.erase(ready.begin());
    Choice best;
    consider(problem, schedule, g, key, best);
    schedule.assign(g, best.device);
    for (int v : problem.groups[at(g)].outputs)
      for (int r : problem.values[at(v)].readers)
        if (--open[at(r)] == 0) ready.insert(r);
  }
  return schedule.placement(ranks);
}

/// Always places next the ready group with the least key on any device or, with `most`, the ready group whose least key
/// is the largest.
Placement by_readiness(const Problem& problem, const Ranks& ranks, const Key& key, bool most = false) {
  Schedule schedule(problem);
  std::vector<int> ready, open(problem.groups.size());  // ready groups; the largest rank comes first
  const auto insert = [&](int g) {
    const auto before = [&](int a, int b) {
      if (ranks.upward(a) != ranks.upward(b)) return ranks.upward(a) > ranks.upward(b);
      return ranks.topological_position(a) < ranks.topological_position(b);
    };
    ready.insert(std::upper_bound(ready.begin(), ready.end(), g, before), g);
  };
  for (int g = 0; g < problem.group_count(); ++g) {
    for (int v : problem.groups[at(g)].inputs) open[at(g)] += problem.values[at(v)].producer != kCaller;
    if (open[at(g)] == 0) insert(g);
  }
  while (!ready.empty()) {
    Choice best;
    for (size_t i = 0; i < std::min(ready.size(), most_ready(problem)); ++i)
      if (!most) {
        consider(problem, schedule, ready[i], key, best);
      } else {
        Choice candidate;
        consider(problem, schedule, ready[i], key, candidate);
        if (best.group < 0 || candidate.key > best.key) best = candidate;
      }
    ready.erase(std::find(ready.begin(), ready.end(), best.group));
    schedule.assign(best.group, best.device);
    for (int v : problem.groups[at(best.group)].outputs)
      for (int r : problem.values[at(v)].readers)
        if (--open[at(r)] == 0) insert(r);
  }
  return schedule.placement(ranks);
}

/// Disjoint chains of groups. A chain begins at the free group of the largest rank and continues with its free reader
/// of the largest rank.
struct Chains {
  std::vector<int> before;   // the previous group in its chain; -1: the group is the first
  std::vector<double> left;  // groups x devices: time of the rest of the chain on the device
};

Chains chains_of(const Problem& problem, const Ranks& ranks) {
  const size_t devices = problem.devices.size();
  Chains out{std::vector<int>(problem.groups.size(), -1), std::vector<double>(problem.groups.size() * devices)};
  std::vector<int> next(problem.groups.size(), -1);
  std::vector<bool> taken(problem.groups.size());
  for (int first : ranks.by_upward_rank())
    for (int g = taken[at(first)] ? -1 : first; g >= 0; g = next[at(g)]) {
      taken[at(g)] = true;
      int& best = next[at(g)];
      for (int v : problem.groups[at(g)].outputs)
        for (int r : problem.values[at(v)].readers)
          if (!taken[at(r)] && (best < 0 || ranks.upward(r) > ranks.upward(best))) best = r;
      if (best >= 0) out.before[at(best)] = g;
    }
  for (auto g = ranks.topological().rbegin(); g != ranks.topological().rend(); ++g)
    for (size_t d = 0; d < devices; ++d) {
      const double us = problem.groups[at(*g)].us[d];
      const int n = next[at(*g)];
      out.left[at(*g) * devices + d] = (us == kUnsupported ? 0 : us) + (n < 0 ? 0 : out.left[at(n) * devices + d]);
    }
  return out;
}

/// The first group of a chain goes to the device where the chain would end first. The other groups go to the same
/// device if it runs them.
Placement by_chains(const Problem& problem, const Ranks& ranks, const std::vector<double>& rank) {
  const Chains chains = chains_of(problem, ranks);
  return by_rank(problem, ranks, rank, [&](const Schedule& schedule, int g, int d, const Schedule::Estimate& e) {
    const int before = chains.before[at(g)];
    if (before >= 0 && schedule.device_of(before) == d) return -1.0;
    return e.begin + chains.left[at(g) * problem.devices.size() + at(d)];
  });
}

/// Places the groups of the longest path on the device that runs them all soonest, if a device can run them all.
Placement by_critical_path(const Problem& problem, const Ranks& ranks) {
  constexpr double kEqual = 1 - 1e-9;
  std::vector<double> through(problem.groups.size()), on_path(problem.devices.size());
  double longest = 0;
  for (int g = 0; g < problem.group_count(); ++g)
    longest = std::max(longest, through[at(g)] = ranks.upward(g) + ranks.downward(g));
  const auto is_critical = [&](int g) { return through[at(g)] >= kEqual * longest; };
  for (int g = 0; g < problem.group_count(); ++g)
    for (size_t d = 0; is_critical(g) && d < on_path.size(); ++d) on_path[d] += problem.groups[at(g)].us[d];
  const auto best = std::min_element(on_path.begin(), on_path.end());
  const int device = best == on_path.end() || *best == kUnsupported ? -1 : static_cast<int>(best - on_path.begin());
  return by_rank(problem, ranks, through, [&](const Schedule&, int g, int d, const Schedule::Estimate& e) {
    return is_critical(g) && d == device ? -1.0 : e.end;
  });
}

}  // namespace

Placement list_schedule(const Problem& problem, const Ranks& ranks, ListRule rule) {
  std::vector<double> rank(problem.groups.size());
  for (int g = 0; g < problem.group_count(); ++g) rank[at(g)] = ranks.upward(g);
  const auto end = [](const Schedule&, int, int, const Schedule::Estimate& e) { return e.end; };
  switch (rule) {
    case ListRule::heft:
      return by_rank(problem, ranks, rank, end);
    case ListRule::peft: {
      const size_t devices = problem.devices.size();
      const std::vector<double> costs = optimistic_costs(problem, ranks);
      for (size_t g = 0; g < rank.size(); ++g) {
        rank[g] = 0;
        for (size_t d = 0; d < devices; ++d) rank[g] += costs[g * devices + d] / static_cast<double>(devices);
        rank[g] *= ranks.factor(static_cast<int>(g));
      }
      return by_rank(problem, ranks, rank, [&](const Schedule&, int g, int d, const Schedule::Estimate& e) {
        return e.end + costs[at(g) * devices + at(d)];
      });
    }
    case ListRule::etf:
      return by_readiness(problem, ranks,
                          [](const Schedule&, int, int, const Schedule::Estimate& e) { return e.begin; });
    case ListRule::min_min:
    case ListRule::max_min:
      return by_readiness(problem, ranks, end, rule == ListRule::max_min);
    case ListRule::cpop:
      return by_critical_path(problem, ranks);
    case ListRule::chains:
      break;
  }
  return by_chains(problem, ranks, rank);
}

}  // namespace gcg::place
