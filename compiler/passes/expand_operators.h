// Operators that are others put together, as those others.
#pragma once

#include "compiler/ir/graph.h"

namespace gcg {

/// Requires: every value has a rank.
/// Ensures: no operator of expanded_ops.inc is left, in bodies neither; the graph is inferred.
/// Before: the passes that write single operators (expand-attention, ...), for expansions are made of these, too.
///
///   com.microsoft.BiasGelu(x, b) -> Gelu(Add(x, b))
bool expand_operators(Graph& graph);

}  // namespace gcg
