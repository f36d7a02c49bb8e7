// The parts of a file that was compiled for a fleet, placed anew: by the model, or by what was measured. Nothing is
// compiled again.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "gcc_graph/fleet.h"

namespace gcc_graph {

/// A group on a device that it ran on. Times are medians over runs, in microseconds.
struct GroupMeasurement {
  std::string group, device;  ///< names
  double operation_us = 0;    ///< of its calls
  double idle_us = 0;         ///< that the device waited before them, with nothing else to do
  double noise_us = 0;        ///< half of what lies between the quartiles of operation_us; 0: not known
  double begin_us = 0;        ///< of its first call, since the run began
  int64_t runs = 0;           ///< that were measured, the cold ones left out
  bool crossed = false;       ///< in runs where another device made one of its inputs
};

/// What `gcc-graph run|bench --monitor` writes.
struct FleetProfile {
  std::string artifact;     ///< its identity: what placing anew leaves as it is
  double run_us = 0;        ///< of a run as it was placed, median; 0: not known
  double run_noise_us = 0;  ///< as noise_us
  std::vector<GroupMeasurement> groups;
};
/// Throws Error naming the row, the field and what is wrong with it; `source` is what it calls the text.
GCC_GRAPH_API FleetProfile parse_fleet_profile(const std::string& json, const std::string& source);
GCC_GRAPH_API std::string print_fleet_profile(const FleetProfile& profile);
/// Both: rows of `later` replace those of the same group and device, crossed or not, and its run that of `earlier`.
GCC_GRAPH_API FleetProfile merged(const FleetProfile& earlier, const FleetProfile& later);

/// Of a group: which weights, by any number that equal ones share, and their bytes.
struct GroupWeight {
  uint64_t identity = 0;
  int64_t bytes = 0;
};
using GroupWeights = std::vector<std::vector<GroupWeight>>;  ///< by group; empty: each has its own

/// By number of group.
struct Placement {
  std::vector<int> device;  ///< that runs it
  std::vector<int> order;   ///< of all groups: each device takes its own in this order
};

struct RefineOptions {
  double threshold = 0.02;  ///< that a move has to gain, of the run
  /// Of a run: a move has to gain more than that, and more than that of the groups that stay where they are on top.
  double noise_us = 0;
  int64_t effort = 24'000'000;  ///< groups and values that the search may look at
};

struct Refined {
  double us = 0, was_us = 0;  ///< of a run, so placed and as it was
  bool moved = false;
  std::string by;  ///< what found it
};

/// A placement that was tried.
struct PlacingRound {
  Placement placement;
  double predicted_us = 0, measured_us = 0, noise_us = 0;
};

struct NextRound {
  bool stop = false;
  Placement placement;      ///< of the next round; at the end the one that was measured least
  double predicted_us = 0;  ///< of it; at the end what was measured
  std::string why;
};

/// An assembly, as the section of a file holds it. Its methods throw Error for one whose numbers do not fit each other.
class GCC_GRAPH_API Placing {
 public:
  explicit Placing(std::span<const uint8_t> section, GroupWeights weights = {});

  std::vector<std::string> groups() const;
  std::vector<std::string> devices() const;
  bool runs_on(int group, int device) const;
  Placement placement() const;
  double predicted_us() const;  ///< of a run, as the section says it
  /// Of a run so placed, in the order in which lanes take groups.
  double predict(const Placement& placement) const;

  /// As given. Throws Error for a group on a device that does not support it.
  void put(const Placement& placement);
  /// These devices take the place of its own. Throws Error for a group that nothing runs any more.
  void move_to(const Fleet& fleet);
  /// Operation times by what was measured. Returns the noise of a run. Throws Error for a row whose group or device is
  /// not there.
  double correct(const FleetProfile& profile);
  /// Places it where something gains enough, or where it does not fit any more. Throws Error saying why nothing fits.
  Refined refine(const RefineOptions& options);
  /// What to try after the last of `rounds`, with times corrected by all that was measured.
  NextRound next_round(const std::vector<PlacingRound>& rounds, const RefineOptions& options) const;

  std::vector<uint8_t> section() const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace gcc_graph
