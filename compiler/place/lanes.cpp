#include "compiler/place/lanes.h"

#include <algorithm>
#include <limits>

namespace gcg::place {
namespace {

size_t at(int number) { return static_cast<size_t>(number); }

/// Simulates the lanes. The device with the earliest decision decides next; decisions after it cannot make a group
/// ready before that time.
class Lanes {
 public:
  Lanes(const Problem& problem, const Placement& placement)
      : problem_(problem),
        device_(placement.device),
        free_(problem.devices.size()),
        link_free_(problem.links.size()),
        arrival_(problem.values.size() * problem.devices.size(), kUnsupported),
        waits_(problem.groups.size()),
        position_(problem.groups.size()),
        ready_(problem.devices.size()) {
    for (size_t i = 0; i < placement.order.size(); ++i) position_[at(placement.order[i])] = i;
    for (int v = 0; v < static_cast<int>(problem.values.size()); ++v)
      if (problem.values[at(v)].producer == kCaller) {
        const int fixed_device = problem.values[at(v)].fixed_device;
        if (fixed_device == kAnywhere)
          for (int d = 0; d < problem.device_count(); ++d) arrival(v, d) = 0;
        else
          send(v, fixed_device, 0);
      } else {
        for (int r : problem.values[at(v)].readers) ++waits_[at(r)];
      }
    for (int g = 0; g < problem.group_count(); ++g)
      if (waits_[at(g)] == 0) make_ready(g);
  }

  std::vector<int> order() {
    std::vector<int> order;
    while (order.size() < problem_.groups.size()) {
      order.push_back(take());
      finish(order.back());
    }
    return order;
  }

 private:
  struct Ready {
    double since;
    size_t position;
    int group;
  };

  double& arrival(int value, int device) { return arrival_[at(value) * problem_.devices.size() + at(device)]; }

  void send(int value, int from, double when) {
    arrival(value, from) = when;
    for (int r : problem_.values[at(value)].readers) {
      const int to = device_[at(r)];
      if (arrival(value, to) != kUnsupported) continue;
      double& free = link_free_[at(from) * problem_.devices.size() + at(to)];
      const double begin = problem_.links_queue ? std::max(free, when) : when;
      free = arrival(value, to) = begin + problem_.link(from, to).time(problem_.values[at(value)].bytes);
    }
  }

  void make_ready(int group) {
    double since = 0;
    for (int v : problem_.groups[at(group)].inputs) since = std::max(since, arrival(v, device_[at(group)]));
    ready_[at(device_[at(group)])].push_back({since, position_[at(group)], group});
  }

  int take() {
    double soonest = std::numeric_limits<double>::infinity();
    size_t device = 0;
    for (size_t d = 0; d < ready_.size(); ++d)
      for (const Ready& r : ready_[d])
        if (const double when = std::max(free_[d], r.since); when < soonest) soonest = when, device = d;
    std::vector<Ready>& all = ready_[device];
    auto best = all.end();
    for (auto r = all.begin(); r != all.end(); ++r)
      if (r->since <= soonest && (best == all.end() || r->position < best->position)) best = r;
    const int group = best->group;
    all.erase(best);
    free_[device] = soonest + problem_.operation_us(group, static_cast<int>(device), device_);
    return group;
  }

  void finish(int group) {
    const int device = device_[at(group)];
    for (int v : problem_.groups[at(group)].outputs) {
      send(v, device, free_[at(device)]);
      for (int r : problem_.values[at(v)].readers)
        if (--waits_[at(r)] == 0) make_ready(r);
    }
  }

  const Problem& problem_;
  const std::vector<int>& device_;
  std::vector<double> free_, link_free_, arrival_;
  std::vector<int> waits_;  // by group: number of values that it still waits for
  std::vector<size_t> position_;
  std::vector<std::vector<Ready>> ready_;  // per device
};

}  // namespace

Placement as_lanes_run(const Problem& problem, const Placement& placement) {
  return {placement.device, Lanes(problem, placement).order()};
}

}  // namespace gcg::place
