// Extents that depend on data.
#pragma once

#include "compiler/ir/graph.h"

namespace gcg {

/// Requires: types inferred, target passes done. Ensures: for every node, in bodies too, whose extents depend on data,
/// and whose operator can say how (OpDef::data_extent), nodes that compute the extents and a gart.Bind that gives the
/// symbols their values; where branches of an If make results of different extents, and where an iteration changes the
/// extents of what a Loop carries, the same (extent_binder.h). Example: y[n] = NonZero(x)  ->  y[n] = NonZero(x); c =
/// gart.Extent(x); gart.Bind(c; n)
Graph bind_extents(const Graph& graph);

}  // namespace gcg
