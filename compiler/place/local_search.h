// Improves placements move by move, on the simulator.
#pragma once

#include <cstdint>

#include "compiler/place/list_schedule.h"
#include "compiler/place/simulate.h"

namespace gcg::place {

struct SearchOptions {
  int64_t evaluations = 0;  // a count instead of a time limit, so that builds are reproducible
  uint64_t seed = 1;
};

struct SearchResult {
  Placement placement;
  Simulator::Cost cost;
};

/// Simulated annealing from `start`. A move changes the device of a group, of a run of its chain or of two groups, or
/// the position of a group or a run in the order. A placement that lacks memory is worse than any that fits. Returns
/// the best placement found, which is never worse than `start`.
SearchResult search(const Problem& problem, const Ranks& ranks, SearchResult start, const SearchOptions& options);

/// The same search with memory as the only cost. It begins from `start` and then from random placements, until one
/// fits.
SearchResult search_fit(const Problem& problem, const Ranks& ranks, SearchResult start, const SearchOptions& options);

}  // namespace gcg::place
