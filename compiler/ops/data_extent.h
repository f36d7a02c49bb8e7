// Internal operators that make data-dependent extents of results known at run time.
#pragma once

#include <string>
#include <vector>

#include "compiler/ir/graph.h"

namespace gcg {

/// Makes a gart.Extent, without outputs yet: the value of the `symbol`-th symbol that inference of `of` requested (i64,
/// rank 0).
Node extent_node(const Node& of, int symbol);

/// Makes a gart.DimValue, without outputs yet: the value of an extent (i64, rank 0).
Node dim_value_node(const std::string& name, const Dim& dim);

/// Makes a gart.WithExtents, without outputs yet: x with other names for its extents. In every run, the extents under
/// both names are equal.
Node with_extents_node(const std::string& name, ValueId x, const Shape& extents);

/// The symbols that a gart.Bind sets to the values of its inputs, in order.
std::vector<std::string> bound_symbols(const Node& bind);

}  // namespace gcg
