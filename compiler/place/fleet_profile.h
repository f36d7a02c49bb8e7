// Measurements of an artifact that runs on a fleet. `run|bench --monitor` writes them, `place --profile` reads them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace gcg {

/// The measurements of a group on a device. Times are medians over runs, in microseconds.
struct GroupMeasurement {
  std::string group, device;  // names
  double operation_us = 0;    // all its calls
  double idle_us = 0;         // the device waited idle before these calls
  double noise_us = 0;        // half the interquartile range of operation_us; 0: not known
  double begin_us = 0;        // begin of its first call, since the run began
  int64_t runs = 0;           // measured runs, without the cold ones
  bool crossed = false;       // measured in runs in which another device made one of its inputs
};

struct FleetProfile {
  std::string artifact;     // its identity, which does not change with a new placement (artifact_identity in tools)
  double run_us = 0;        // median time of a run as it was placed; 0: not known
  double run_noise_us = 0;  // half its interquartile range
  std::vector<GroupMeasurement> groups;

  /// The measurement; null: the group never ran there in this way.
  const GroupMeasurement* find(const std::string& group, const std::string& device, bool crossed) const;
  /// Takes over the measurements of `later`. Its rows replace those of the same group, device and `crossed`, and its
  /// run time replaces this one.
  void merge(const FleetProfile& later);
};

/// JSON: {"format": "gcc-graph profile 1", "artifact": .., "run_us": .., "run_noise_us": .., "groups": [{"group": ..,
/// "device": .., "operation_us": .., "idle_us": .., "noise_us": .., "begin_us": .., "runs": .., "crossed": ..}]}.
/// `source` is the text's name in messages. Throws CompileError naming the row, the field and the error.
FleetProfile parse_fleet_profile(const std::string& json, const std::string& source);
std::string print_fleet_profile(const FleetProfile& profile);

}  // namespace gcg
