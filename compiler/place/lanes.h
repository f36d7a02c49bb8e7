// The order in which lanes work, as the fleet's runtime has them.
#pragma once

#include "compiler/place/problem.h"

namespace gcg::place {

/// The simulator keeps to a placement's order; a lane does not wait for its next group while another one of its is
/// ready: of those it takes the first of the order. The placement with the order that this gives.
Placement as_lanes_run(const Problem& problem, const Placement& placement);

}  // namespace gcg::place
