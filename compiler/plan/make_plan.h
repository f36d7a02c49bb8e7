// Makes the plan of a graph, before it is bound to a target.
#pragma once

#include "compiler/plan/plan.h"

namespace gcg {

/// Data-dependent extents become bind steps if the operator can compute them; constraints on such extents become fail
/// steps after the bind steps. Throws UnsupportedModel with a row for every node that has no kernel or whose
/// data-dependent extent nothing computes. Requires: target passes are done.
Plan make_plan(const Graph& graph, DeviceClass device = DeviceClass::cpu);

}  // namespace gcg
