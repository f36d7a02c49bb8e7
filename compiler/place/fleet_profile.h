// What was measured of an artifact that runs on a fleet: `run|bench --monitor` writes it, `place --profile` reads it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace gcg {

/// A group on a device that it ran on. Times are medians over runs, in microseconds.
struct GroupMeasurement {
  std::string group, device;  // names
  double operation_us = 0;    // of its calls
  double idle_us = 0;         // that the device waited before them, with nothing else to do
  double noise_us = 0;        // half of what lies between the quartiles of operation_us; 0: not known
  double begin_us = 0;        // of its first call, since the run began
  int64_t runs = 0;           // that were measured, the cold ones left out
  bool crossed = false;       // in runs where another device made one of its inputs
};

struct FleetProfile {
  std::string artifact;     // its identity: what placing anew leaves as it is (artifact_identity in tools)
  double run_us = 0;        // of a run as it was placed, median; 0: not known
  double run_noise_us = 0;  // as noise_us
  std::vector<GroupMeasurement> groups;

  /// Null: it never ran there so.
  const GroupMeasurement* find(const std::string& group, const std::string& device, bool crossed) const;
  /// Takes over what `later` measured: its rows replace those of the same group and device, crossed or not, and its run
  /// that of this.
  void merge(const FleetProfile& later);
};

/// JSON: {"format": "gcc-graph profile 1", "artifact": .., "run_us": .., "run_noise_us": .., "groups": [{"group": ..,
/// "device": .., "operation_us": .., "idle_us": .., "noise_us": .., "begin_us": .., "runs": .., "crossed": ..}]}.
/// `source` is what messages call the text. Throws CompileError naming the row, the field and what is wrong with it.
FleetProfile parse_fleet_profile(const std::string& json, const std::string& source);
std::string print_fleet_profile(const FleetProfile& profile);

}  // namespace gcg
