// Inlines subgraphs of control-flow nodes into the graph around them.
#pragma once

#include <map>

#include "compiler/ir/graph.h"

namespace gcg {

/// Appends copies of nodes of `from`, with their subgraphs and in the given order, to `to`. `values` maps ids that the
/// nodes read from outside, and receives the ids of their outputs and of constants of `from`. Forgets the symbols that
/// inference made for the nodes, so that the copies get new ones.
void copy_nodes(const Graph& from, const std::vector<NodeId>& nodes, Graph& to, std::map<ValueId, ValueId>& values);

/// Replaces the If node by the nodes of its subgraph number `taken`.
void inline_body(Graph& graph, NodeId node, int taken);

/// Forgets the symbols that inference made for the node and for nodes in its subgraphs.
void forget_symbols(Node& node);

}  // namespace gcg
