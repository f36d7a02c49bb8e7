// The placement problem: groups of a model, values between them, and devices with links. It does not depend on graphs
// or fleets, so that random instances and external solvers can use it. Times are microseconds.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace gcg::place {

inline constexpr double kUnsupported = std::numeric_limits<double>::infinity();
inline constexpr int64_t kEnough = std::numeric_limits<int64_t>::max();  // memory without a limit
inline constexpr int kCaller = -1;  // a value that no group makes: an input of the model
// For an input: it is on every device; for an output: it may stay where it is made.
inline constexpr int kAnywhere = -1;

struct Device {
  std::string name;
  int64_t memory_bytes = kEnough;
  double spins_us = 0;  // time for which an idle device spins before it sleeps
  double wakes_us = 0;  // extra time of a group that has to wake its device
};

/// A link from one device to another. It does one transfer at a time, in the order in which transfers become ready.
struct Link {
  double bytes_per_us = std::numeric_limits<double>::infinity();
  double us = 0;  // latency: a transfer of 0 bytes

  double time(int64_t bytes) const { return us + static_cast<double>(bytes) / bytes_per_us; }
  /// True if the devices share their memory. Then nothing is sent, and the reader fetches the value into its caches.
  bool is_shared_memory() const { return us == 0 && bytes_per_us == std::numeric_limits<double>::infinity(); }
};

/// A value between groups. It is sent once to each device that has readers.
struct Value {
  int64_t bytes = 0;
  int producer = kCaller;        // a group
  int fixed_device = kAnywhere;  // for an input of the model: the device whose memory it is in
  std::vector<int> readers;
  bool wanted = false;  // True if the caller wants the value
  int wanted_on = kAnywhere;
};

struct Group {
  std::string name;
  std::vector<double> us;  // time on each device; kUnsupported if the device cannot run the group
  // Weights stay on the device all the time; groups on one device share equal weights.
  std::vector<int> weights;
  int64_t working_bytes = 0;         // memory while it runs, besides its inputs and outputs
  std::vector<int> inputs, outputs;  // values, each once
  /// Extra time on each device if another device with the same memory made an input; empty: none.
  std::vector<double> crossing_us = {};

  bool runs_on(int device) const { return us[static_cast<size_t>(device)] != kUnsupported; }
};

/// The groups form no cycle. Groups, values, devices and weights are identified by number.
struct Problem {
  std::vector<Device> devices;
  std::vector<Link> links;  // devices x devices: link [from * devices + to]
  std::vector<Group> groups;
  std::vector<Value> values;
  std::vector<int64_t> weights;  // bytes
  bool links_queue = true;       // false: a link does all transfers at the same time, as in most papers

  int device_count() const { return static_cast<int>(devices.size()); }
  int group_count() const { return static_cast<int>(groups.size()); }
  const Link& link(int from, int to) const {
    return links[static_cast<size_t>(from) * devices.size() + static_cast<size_t>(to)];
  }
  /// Time of `group` on `device`. `device_of` gives the devices of its producers.
  double operation_us(int group, int device, const std::vector<int>& device_of) const;
};

/// The device of each group, and its position in the order. Each device runs its groups in the order of the whole list.
/// In this list, readers come after producers.
struct Placement {
  std::vector<int> device;  // of each group
  std::vector<int> order;   // groups
};

/// Groups in topological order; among ready groups, the lower number comes first.
std::vector<int> topological_order(const Problem& problem);

}  // namespace gcg::place
