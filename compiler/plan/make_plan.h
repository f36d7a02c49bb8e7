// The plan of a graph: what runs, not yet for any one target.
#pragma once

#include "compiler/plan/plan.h"

namespace gcg {

/// Requires: target passes done. Extents that depend on data become bind steps where the operator can say what they
/// are, and facts about them fail steps after those. Throws UnsupportedModel with a row for every node that has no
/// kernel or gives a value an extent that depends on data.
Plan make_plan(const Graph& graph, DeviceClass device = DeviceClass::cpu);

}  // namespace gcg
