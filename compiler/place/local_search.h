// Placements made better move by move, on the simulator.
#pragma once

#include <cstdint>

#include "compiler/place/list_schedule.h"
#include "compiler/place/simulate.h"

namespace gcg::place {

struct SearchOptions {
  int64_t evaluations = 0;  // never a time: builds must not differ
  uint64_t seed = 1;
};

struct SearchResult {
  Placement placement;
  Simulator::Cost cost;
};

/// Simulated annealing from `start`: a group, its run of the chain or two groups change devices, a group or a run
/// changes its turn. What lacks memory is worse than what does not; the best of all that was met is returned, so never
/// worse than `start`.
SearchResult search(const Problem& problem, const Ranks& ranks, SearchResult start, const SearchOptions& options);

/// The same where memory is all that counts, from `start` and then from anywhere, until a placement fits.
SearchResult search_fit(const Problem& problem, const Ranks& ranks, SearchResult start, const SearchOptions& options);

}  // namespace gcg::place
