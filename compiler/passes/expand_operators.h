// Expands composite operators into the operators they consist of.
#pragma once

#include "compiler/ir/graph.h"

namespace gcg {

/// Requires: every value has a rank.
/// Ensures: no operator of expanded_ops.inc is left, subgraphs included; the graph is inferred.
/// Before: the passes that expand single operators (expand-attention, ...), because expansions contain these, too.
///
///   com.microsoft.BiasGelu(x, b) -> Gelu(Add(x, b))
bool expand_operators(Graph& graph);

/// The same for one node, which must be composed. Its new nodes are not inferred.
void expand_operator(Graph& graph, NodeId id);

}  // namespace gcg
