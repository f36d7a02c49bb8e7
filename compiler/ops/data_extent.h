// The two internal operators that make the extents of results that depend on data known to the run.
#pragma once

#include <string>
#include <vector>

#include "compiler/ir/graph.h"

namespace gcg {

/// A gart.Extent, without outputs yet: the value of the symbol that inference of `of` asked for `symbol`-th (i64, rank 0).
Node extent_node(const Node& of, int symbol);

/// The symbols that a gart.Bind gives the values of its inputs, in order.
std::vector<std::string> bound_symbols(const Node& bind);

}  // namespace gcg
