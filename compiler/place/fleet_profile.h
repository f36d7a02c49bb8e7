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
  double idle_us = 0;         // time for which the device was idle before these calls
  double noise_us = 0;        // half the interquartile range of operation_us; 0: not known
  double begin_us = 0;        // start of the group's first call, since the start of the run
  int64_t runs = 0;           // number of measured runs, without the cold ones
  bool crossed = false;       // True if another device made one of its inputs in these runs
};

struct FleetProfile {
  // The artifact's identity, which does not change with a new placement (artifact_identity in tools).
  std::string artifact;
  double run_us = 0;        // median time of a run with the artifact's placement; 0: not known
  double run_noise_us = 0;  // half the interquartile range of run_us
  std::vector<GroupMeasurement> groups;

  /// The measurement; null: the group never ran there with this `crossed`.
  const GroupMeasurement* find(const std::string& group, const std::string& device, bool crossed) const;
  /// Takes over the measurements of `later`. Its rows replace rows with the same group, device and `crossed`, and its
  /// run time replaces the present one.
  void merge(const FleetProfile& later);
};

/// JSON: {"format": "gcc-graph profile 1", "artifact": .., "run_us": .., "run_noise_us": .., "groups": [{"group": ..,
/// "device": .., "operation_us": .., "idle_us": .., "noise_us": .., "begin_us": .., "runs": .., "crossed": ..}]}.
/// `source` is the text's name in messages. Throws CompileError naming the row, the field and the error.
FleetProfile parse_fleet_profile(const std::string& json, const std::string& source);
std::string print_fleet_profile(const FleetProfile& profile);

}  // namespace gcg
