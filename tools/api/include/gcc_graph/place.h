// Places the parts of a fleet's file again, by the cost model or by measurements. Nothing is recompiled.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "gcc_graph/fleet.h"

namespace gcc_graph {

/// Measurements of a group on one device. Times are medians over runs, in microseconds.
struct GroupMeasurement {
  std::string group, device;  ///< names
  double operation_us = 0;    ///< time of its calls
  double idle_us = 0;         ///< time that the device waited for the group, with nothing else to do
  double noise_us = 0;        ///< half the interquartile range of operation_us; 0: not known
  double begin_us = 0;        ///< start of its first call, from the start of the run
  int64_t runs = 0;           ///< number of measured runs, without cold ones
  bool crossed = false;       ///< true if another device made an input of the group
};

/// The measurements that `gcc-graph run|bench --monitor` writes.
struct FleetProfile {
  std::string artifact;     ///< the artifact's identity, which does not depend on the placement
  double run_us = 0;        ///< median time of a run with its placement; 0: not known
  double run_noise_us = 0;  ///< as GroupMeasurement::noise_us
  std::vector<GroupMeasurement> groups;
};
/// Throws Error that names the row, the field and the fault. `source`: the name that messages use for the text.
GCC_GRAPH_API FleetProfile parse_fleet_profile(const std::string& json, const std::string& source);
GCC_GRAPH_API std::string print_fleet_profile(const FleetProfile& profile);
/// Merges two profiles. A row of `later` replaces the row with the same group, device and `crossed`; its run time
/// replaces that of `earlier`.
GCC_GRAPH_API FleetProfile merged(const FleetProfile& earlier, const FleetProfile& later);

/// A weight that a group reads. Equal weights share an identity, which is an arbitrary number.
struct GroupWeight {
  uint64_t identity = 0;
  int64_t bytes = 0;
};
using GroupWeights = std::vector<std::vector<GroupWeight>>;  ///< by group; empty: no group shares weights

/// Indexed by group.
struct Placement {
  std::vector<int> device;  ///< the device that runs the group
  std::vector<int> order;   ///< order of all groups; each device runs its groups in this order
};

struct RefineOptions {
  double threshold = 0.02;  ///< the share of the run time that a move must gain
  /// Noise of a run. A move must gain more than this noise plus the noise of the groups that do not move.
  double noise_us = 0;
  int64_t effort = 24'000'000;  ///< limit of the search: number of groups and values that it may visit
};

struct Refined {
  double us = 0, was_us = 0;  ///< predicted time of a run: with the new placement, and with the old one
  bool moved = false;
  std::string by;  ///< the method that found the placement
};

/// A placement that was tried.
struct PlacingRound {
  Placement placement;
  double predicted_us = 0, measured_us = 0, noise_us = 0;
};

struct NextRound {
  bool stop = false;
  Placement placement;      ///< placement of the next round; at the end, the placement with the shortest measured time
  double predicted_us = 0;  ///< predicted time of that placement; at the end, its measured time
  std::string why;
};

/// The assembly in a section of the file. The methods throw Error if its numbers are inconsistent.
class GCC_GRAPH_API Placing {
 public:
  explicit Placing(std::span<const uint8_t> section, GroupWeights weights = {});

  std::vector<std::string> groups() const;
  std::vector<std::string> devices() const;
  bool runs_on(int group, int device) const;
  Placement placement() const;
  double predicted_us() const;  ///< predicted time of a run, as stored in the section
  /// The predicted time of a run with this placement, in the order in which lanes take groups.
  double predict(const Placement& placement) const;

  /// Sets the placement. Throws Error if a device does not support a group that is placed on it.
  void put(const Placement& placement);
  /// Replaces the devices of the assembly. Throws Error if some group has no device left.
  void move_to(const Fleet& fleet);
  /// Replaces operation times by measured ones. Returns the noise of a run. Throws Error for a row with an unknown
  /// group or device.
  double correct(const FleetProfile& profile);
  /// Moves groups if the gain is large enough, or if the current placement no longer fits into memory. Throws Error if
  /// no placement fits.
  Refined refine(const RefineOptions& options);
  /// The placement to try after the last of `rounds`, with times corrected by all measurements so far.
  NextRound next_round(const std::vector<PlacingRound>& rounds, const RefineOptions& options) const;

  std::vector<uint8_t> section() const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace gcc_graph
