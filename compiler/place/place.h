// Places groups on devices. The functions are pure: the same problem gives the same placement on every machine.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "compiler/place/problem.h"

namespace gcg::place {

struct Options {
  uint64_t seed = 1;
  /// Effort of the search: the number of groups and values that the simulator may visit, over all evaluations.
  int64_t effort = 24'000'000;
};

/// The reason why there is no placement.
struct PlacementFailure {
  struct Row {
    int device = 0;
    bool supported = true;  // false: the device does not run the group, and the bytes have no meaning
    int64_t needed = 0;     // bytes
    int64_t free = 0;       // bytes of the device's memory that are left beside the groups placed earlier
  };
  int group = -1;         // the first group that does not fit
  std::vector<Row> rows;  // one per device
};

struct Placed {
  std::optional<Placement> placement;  // none: see failure
  double us = 0;                       // predicted time of a run
  std::string by;                      // the method that found it: "heft", "all on cuda:0", "search", ..
  PlacementFailure failure;
};

/// The best of these placements: all groups on one device, for each device; the result of every list scheduler; the
/// existing placement (`hint`); the result of a search from the best of those.
Placed place(const Problem& problem, const Options& options = {}, const Placement* hint = nullptr);

/// "group 'g3' fits on no device: 'cpu:0' has 12 bytes free, 40 are needed; 'acc:0' does not support it".
std::string describe(const Problem& problem, const PlacementFailure& failure);

}  // namespace gcg::place
