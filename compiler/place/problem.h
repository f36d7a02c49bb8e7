// What is to be placed: groups of a model, values between them, and devices with links. It knows neither graphs nor
// fleets, so that random instances and other people's solvers can drive the placers. Times are microseconds.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace gcg::place {

inline constexpr double kUnsupported = std::numeric_limits<double>::infinity();
inline constexpr int64_t kEnough = std::numeric_limits<int64_t>::max();  // of memory
inline constexpr int kCaller = -1;    // a value that no group makes: an input of the model
inline constexpr int kAnywhere = -1;  // given on every device that reads it, wanted on the one that makes it

struct Device {
  std::string name;
  int64_t memory_bytes = kEnough;
  double spins_us = 0;  // that it looks for more before it sleeps
  double wakes_us = 0;  // what a group takes longer that had to wake it
};

/// From one device to another: transfers one after the other, in the order in which they are ready.
struct Link {
  double bytes_per_us = std::numeric_limits<double>::infinity();
  double us = 0;  // of a transfer without bytes

  double time(int64_t bytes) const { return us + static_cast<double>(bytes) / bytes_per_us; }
  /// The devices share their memory, so nothing is sent: who reads fetches it into its caches.
  bool is_shared_memory() const { return us == 0 && bytes_per_us == std::numeric_limits<double>::infinity(); }
};

/// Sent once to each device that has readers.
struct Value {
  int64_t bytes = 0;
  int producer = kCaller;  // a group
  int given = kAnywhere;   // of a model's input: the device where it lies
  std::vector<int> readers;
  bool wanted = false;  // by the caller
  int wanted_on = kAnywhere;
};

struct Group {
  std::string name;
  std::vector<double> us;            // on each device; kUnsupported where it cannot run
  std::vector<int> weights;          // lie on its device as long as the program lives; shared ones lie there once
  int64_t working_bytes = 0;         // while it runs, besides its inputs and outputs
  std::vector<int> inputs, outputs;  // values, each once
  /// So much longer on each device where another one of the same memory made an input; empty: 0.
  std::vector<double> crossing_us = {};

  bool runs_on(int device) const { return us[static_cast<size_t>(device)] != kUnsupported; }
};

/// The groups make no circle. Everything goes by its number.
struct Problem {
  std::vector<Device> devices;
  std::vector<Link> links;  // devices x devices: [from * devices + to]
  std::vector<Group> groups;
  std::vector<Value> values;
  std::vector<int64_t> weights;  // bytes
  bool links_queue = true;       // false: all transfers at once, as in most papers' models

  int device_count() const { return static_cast<int>(devices.size()); }
  int group_count() const { return static_cast<int>(groups.size()); }
  const Link& link(int from, int to) const {
    return links[static_cast<size_t>(from) * devices.size() + static_cast<size_t>(to)];
  }
  /// Of the group on that device where `device_of` are those of the groups that make its inputs.
  double operation_us(int group, int device, const std::vector<int>& device_of) const;
};

/// Which device runs a group, and when its turn is: each device takes its groups in the order of the whole list, which
/// is one that runs (readers after producers).
struct Placement {
  std::vector<int> device;  // of each group
  std::vector<int> order;   // groups
};

/// Groups in an order that runs; of those that are ready at once the first named comes first.
std::vector<int> topological_order(const Problem& problem);

}  // namespace gcg::place
