// The order in which the lanes of the fleet's runtime execute groups.
#pragma once

#include "compiler/place/problem.h"

namespace gcg::place {

/// Returns the placement with the order in which lanes execute the groups. The simulator keeps to a placement's order.
/// A lane instead takes the first of its ready groups in that order, and does not wait for an earlier one.
Placement as_lanes_run(const Problem& problem, const Placement& placement);

}  // namespace gcg::place
