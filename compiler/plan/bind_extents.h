// Extents that depend on data.
#pragma once

#include <set>
#include <string>

#include "compiler/ir/graph.h"
#include "compiler/kernel/kernel.h"

namespace gcg {

/// Requires: types inferred, target passes done. Ensures: for every node, in bodies too, whose extents depend on data,
/// and whose operator can say how (OpDef::data_extent), nodes that compute the extents and a gart.Bind that gives the
/// symbols their values; where branches of an If make results of different extents, and where an iteration changes the
/// extents of what a Loop carries, the same (extent_binder.h). Example: y[n] = NonZero(x)  ->  y[n] = NonZero(x); c =
/// gart.Extent(x); gart.Bind(c; n)
Graph bind_extents(const Graph& graph);

/// The symbols that gart.Bind nodes of the graph and of bodies in it give values to.
std::vector<std::string> late_symbols(const Graph& graph);

/// Symbols that occur in the kernel's extents.
std::set<std::string> symbols_of(const Kernel& kernel);
/// Symbols that occur in the types of a node's results and in its bodies.
std::set<std::string> symbols_of(const Graph& graph, const Node& node);

}  // namespace gcg
