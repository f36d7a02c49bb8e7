// The two internal operators that make the extents of results that depend on data known to the run.
#pragma once

#include <string>
#include <vector>

#include "compiler/ir/graph.h"

namespace gcg {

/// A gart.Extent, without outputs yet: the value of the symbol that inference of `of` asked for `symbol`-th (i64, rank
/// 0).
Node extent_node(const Node& of, int symbol);

/// A gart.DimValue, without outputs yet: what an extent is, as a number (i64, rank 0).
Node dim_value_node(const std::string& name, const Dim& dim);

/// A gart.WithExtents, without outputs yet: x under other names for its extents, which are the same in every run.
Node with_extents_node(const std::string& name, ValueId x, const Shape& extents);

/// The symbols that a gart.Bind gives the values of its inputs, in order.
std::vector<std::string> bound_symbols(const Node& bind);

}  // namespace gcg
