// Data-dependent extents.
#pragma once

#include "compiler/ir/graph.h"

namespace gcg {

/// Adds nodes that compute data-dependent extents, and a gart.Bind that assigns them to their symbols.
/// Requires: types are inferred, target passes are done.
/// Ensures: every node with data-dependent extents, subgraphs included, has these nodes if its operator can compute the
///   extents (OpDef::data_extent). The same holds for an If whose branches give results of different extents, and for a
///   Loop whose iterations change the extents of a carried value (extent_binder.h).
/// Example: y[n] = NonZero(x)  ->  y[n] = NonZero(x); c = gart.Extent(x); gart.Bind(c; n)
Graph bind_extents(const Graph& graph);

}  // namespace gcg
