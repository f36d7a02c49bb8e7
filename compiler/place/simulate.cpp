#include "compiler/place/simulate.h"

#include <algorithm>

namespace gcg::place {
namespace {

size_t at(int number) { return static_cast<size_t>(number); }

/// For each group: the least time from its end to the end of the run, if all groups after it ran on their fastest
/// devices.
std::vector<double> least_left(const Problem& problem) {
  std::vector<double> left(problem.groups.size());
  const std::vector<int> order = topological_order(problem);
  for (auto g = order.rbegin(); g != order.rend(); ++g)
    for (int v : problem.groups[at(*g)].outputs)
      for (int r : problem.values[at(v)].readers) {
        const std::vector<double>& us = problem.groups[at(r)].us;
        left[at(*g)] = std::max(left[at(*g)], *std::min_element(us.begin(), us.end()) + left[at(r)]);
      }
  return left;
}

}  // namespace

Simulator::Simulator(const Problem& problem)
    : problem_(problem),
      first_copy_(problem.values.size()),
      device_free_(problem.devices.size()),
      link_free_(problem.links.size()),
      begin_(problem.groups.size()),
      end_(problem.groups.size()),
      left_(least_left(problem)),
      position_(problem.groups.size()),
      last_(problem.devices.size()),
      before_(problem.groups.size()),
      own_weight_bytes_(problem.groups.size()),
      shared_weights_(problem.groups.size()),
      changes_(problem.devices.size()),
      weight_bytes_(problem.devices.size()),
      peak_bytes_(problem.devices.size()) {
  std::vector<int> users(problem.weights.size());
  for (const Group& g : problem.groups)
    for (int w : g.weights) ++users[at(w)];
  for (size_t g = 0; g < problem.groups.size(); ++g)
    for (int w : problem.groups[g].weights) {
      if (users[at(w)] > 1)
        shared_weights_[g].push_back(w);
      else
        own_weight_bytes_[g] += problem.weights[at(w)];
    }
  limited_ = std::any_of(problem.devices.begin(), problem.devices.end(),
                         [](const Device& d) { return d.memory_bytes != kEnough; });
}

Simulator::Copy& Simulator::add_copy(int value, int device, double begin, double arrival) {
  copies_.push_back({value, device, arrival, begin, arrival, first_copy_[at(value)]});
  first_copy_[at(value)] = static_cast<int>(copies_.size()) - 1;
  return copies_.back();
}

Simulator::Copy& Simulator::copy_of(int value, int device) {
  int c = first_copy_[at(value)];
  while (copies_[at(c)].device != device) c = copies_[at(c)].next;
  return copies_[at(c)];
}

/// Adds requests for all devices but `from` that read or want the value.
void Simulator::request(int value, int from, const Placement& placement) {
  const Value& v = problem_.values[at(value)];
  const size_t first = requests_.size();
  const auto want = [&](int device, int position) {
    if (device == from) return;
    for (size_t r = first; r < requests_.size(); ++r)
      if (requests_[r].to == device) {
        requests_[r].first_position = std::min(requests_[r].first_position, position);
        return;
      }
    requests_.push_back({position, value, from, device});
  };
  for (int reader : v.readers) want(placement.device[at(reader)], position_[at(reader)]);
  if (v.wanted && v.wanted_on != kAnywhere) want(v.wanted_on, problem_.group_count());
}

/// Passes the requests to their links. All of them become ready at `ready`.
void Simulator::send(double ready) {
  std::sort(requests_.begin(), requests_.end(), [](const Request& a, const Request& b) {
    return a.first_position != b.first_position ? a.first_position < b.first_position : a.value < b.value;
  });
  for (const Request& r : requests_) {
    double& free = link_free_[at(r.from) * problem_.devices.size() + at(r.to)];
    const double begin = problem_.links_queue ? std::max(free, ready) : ready;
    const double end = begin + problem_.link(r.from, r.to).time(problem_.values[at(r.value)].bytes);
    if (free == 0) used_links_.push_back(static_cast<int>(&free - link_free_.data()));
    free = end;
    Copy& source = copy_of(r.value, r.from);
    source.end = std::max(source.end, end);
    add_copy(r.value, r.to, begin, end);
    if (keep_transfers_) transfers_.push_back({r.value, r.from, r.to, begin, end});
  }
  requests_.clear();
}

void Simulator::give_inputs(const Placement& placement) {
  for (int value = 0; value < static_cast<int>(problem_.values.size()); ++value) {
    const Value& v = problem_.values[at(value)];
    if (v.producer != kCaller) continue;
    if (v.fixed_device == kAnywhere) {
      for (int reader : v.readers)
        if (!has_copy(value, placement.device[at(reader)])) add_copy(value, placement.device[at(reader)], 0, 0);
    } else {
      add_copy(value, v.fixed_device, 0, 0);
      request(value, v.fixed_device, placement);
    }
  }
  send(0);
}

bool Simulator::has_copy(int value, int device) const {
  int c = first_copy_[at(value)];
  while (c >= 0 && copies_[at(c)].device != device) c = copies_[at(c)].next;
  return c >= 0;
}

void Simulator::reset(const Placement& placement) {
  copies_.clear();
  transfers_.clear();
  std::fill(first_copy_.begin(), first_copy_.end(), -1);
  std::fill(device_free_.begin(), device_free_.end(), 0);
  std::fill(last_.begin(), last_.end(), -1);
  for (int link : used_links_) link_free_[at(link)] = 0;
  used_links_.clear();
  for (size_t i = 0; i < placement.order.size(); ++i) position_[at(placement.order[i])] = static_cast<int>(i);
}

bool Simulator::run(const Placement& placement, double most) {
  ++evaluations_;
  reset(placement);
  give_inputs(placement);
  us_ = 0;
  const bool tracks_ends = limited_ || keep_transfers_;
  for (int g : placement.order) {
    const Group& group = problem_.groups[at(g)];
    const int device = placement.device[at(g)];
    double begin = device_free_[at(device)];
    for (int v : group.inputs) begin = std::max(begin, copy_of(v, device).arrival);
    const Device& on = problem_.devices[at(device)];
    const double woken = begin > device_free_[at(device)] + on.spins_us ? on.wakes_us : 0;
    const double end = begin + woken + problem_.operation_us(g, device, placement.device);
    if (end + left_[at(g)] > most) {
      share_ = static_cast<double>(position_[at(g)]) / static_cast<double>(placement.order.size());
      return false;
    }
    if (tracks_ends)
      for (int v : group.inputs) {
        Copy& copy = copy_of(v, device);
        copy.end = std::max(copy.end, end);
      }
    before_[at(g)] = std::exchange(last_[at(device)], g);
    begin_[at(g)] = begin;
    end_[at(g)] = device_free_[at(device)] = end;
    us_ = std::max(us_, end);
    for (int v : group.outputs) {
      add_copy(v, device, begin, end);
      request(v, device, placement);
    }
    send(end);
  }
  for (size_t v = 0; v < problem_.values.size(); ++v)
    if (problem_.values[v].wanted && problem_.values[v].wanted_on != kAnywhere)
      us_ = std::max(us_, copy_of(static_cast<int>(v), problem_.values[v].wanted_on).arrival);
  share_ = 1;
  return us_ <= most;
}

/// Sums the weights of each device's groups, each weight once.
void Simulator::add_weights(const Placement& placement) {
  std::fill(weight_bytes_.begin(), weight_bytes_.end(), 0);
  shared_.clear();
  for (int g = 0; g < problem_.group_count(); ++g) {
    weight_bytes_[at(placement.device[at(g)])] += own_weight_bytes_[at(g)];
    for (int w : shared_weights_[at(g)]) shared_.emplace_back(placement.device[at(g)], w);
  }
  std::sort(shared_.begin(), shared_.end());
  shared_.erase(std::unique(shared_.begin(), shared_.end()), shared_.end());
  for (const auto& [device, weight] : shared_) weight_bytes_[at(device)] += problem_.weights[at(weight)];
}

/// True if each device has enough memory even if no memory is ever released.
bool Simulator::fits_at_once(const Placement& placement) {
  std::vector<int64_t>& bytes = peak_bytes_;
  bytes = weight_bytes_;
  for (const Copy& copy : copies_) bytes[at(copy.device)] += problem_.values[at(copy.value)].bytes;
  for (int g = 0; g < problem_.group_count(); ++g)
    bytes[at(placement.device[at(g)])] += problem_.groups[at(g)].working_bytes;
  for (size_t d = 0; d < bytes.size(); ++d)
    if (bytes[d] > problem_.devices[d].memory_bytes) return false;
  return true;
}

void Simulator::measure_memory(const Placement& placement) {
  for (std::vector<Change>& changes : changes_) changes.clear();
  const auto lies = [&](int device, double begin, double end, int64_t bytes) {
    if (bytes == 0 || end <= begin) return;
    changes_[at(device)].push_back({begin, bytes});
    changes_[at(device)].push_back({end, -bytes});
  };
  for (const Copy& copy : copies_) {
    const Value& v = problem_.values[at(copy.value)];
    const bool kept = v.wanted && (v.wanted_on == kAnywhere ? copy.device == owner(copy.value, placement)
                                                            : copy.device == v.wanted_on);
    lies(copy.device, copy.begin, kept ? std::max(us_, copy.end) : copy.end, v.bytes);
  }
  for (int g = 0; g < problem_.group_count(); ++g)
    lies(placement.device[at(g)], begin_[at(g)], end_[at(g)], problem_.groups[at(g)].working_bytes);
  for (size_t d = 0; d < changes_.size(); ++d) {
    std::sort(changes_[d].begin(), changes_[d].end(), [](const Change& a, const Change& b) {
      // At the same time, releases come before allocations.
      return a.time != b.time ? a.time < b.time : a.bytes < b.bytes;
    });
    int64_t now = 0, peak = 0;
    for (const Change& change : changes_[d]) peak = std::max(peak, now += change.bytes);
    peak_bytes_[d] = weight_bytes_[d] + peak;
  }
}

/// The device that makes the value, or has it if it is an input.
int Simulator::owner(int value, const Placement& placement) const {
  const Value& v = problem_.values[at(value)];
  return v.producer == kCaller ? v.fixed_device : placement.device[at(v.producer)];
}

Simulator::Cost Simulator::cost(const Placement& placement, double most) {
  if (!run(placement, most)) return {0, std::numeric_limits<double>::infinity()};
  Cost cost{0, us_};
  if (!limited_) return cost;
  add_weights(placement);
  if (fits_at_once(placement)) return cost;
  measure_memory(placement);
  for (size_t d = 0; d < peak_bytes_.size(); ++d)
    cost.missing_bytes += std::max<int64_t>(0, peak_bytes_[d] - problem_.devices[d].memory_bytes);
  return cost;
}

void Simulator::critical_path(const Placement& placement, std::vector<int>& path) {
  path.clear();
  int g = -1;
  for (const int last : last_)
    if (last >= 0 && (g < 0 || end_[at(last)] > end_[at(g)])) g = last;
  while (g >= 0) {
    path.push_back(g);
    const int before = before_[at(g)];
    int next = before >= 0 && end_[at(before)] == begin_[at(g)] ? before : -1;
    for (int v : problem_.groups[at(g)].inputs)
      if (copy_of(v, placement.device[at(g)]).arrival == begin_[at(g)] && problem_.values[at(v)].producer != kCaller)
        next = problem_.values[at(v)].producer;
    g = next;
  }
}

Timeline Simulator::timeline(const Placement& placement) {
  keep_transfers_ = true;
  run(placement, std::numeric_limits<double>::infinity());
  add_weights(placement);
  measure_memory(placement);
  Timeline out{us_, begin_, end_, transfers_, std::vector<double>(problem_.devices.size()), weight_bytes_, peak_bytes_};
  for (size_t g = 0; g < begin_.size(); ++g) out.busy_us[at(placement.device[g])] += end_[g] - begin_[g];
  keep_transfers_ = false;
  return out;
}

Timeline simulate(const Problem& problem, const Placement& placement) { return Simulator(problem).timeline(placement); }

}  // namespace gcg::place
