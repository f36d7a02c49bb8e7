// Bodies of control-flow nodes as parts of the graph around them.
#pragma once

#include <map>

#include "compiler/ir/graph.h"

namespace gcg {

/// Copies nodes of `from`, in the given order and with their bodies, to the end of `to`. `values` maps the ids that
/// they read from outside and receives those of their outputs; constants of `from` are mapped on the way. Symbols that
/// inference made for the nodes are forgotten, so that the copies get their own.
void copy_nodes(const Graph& from, const std::vector<NodeId>& nodes, Graph& to, std::map<ValueId, ValueId>& values);

/// Replaces the If node by the nodes of its body `taken`.
void inline_body(Graph& graph, NodeId node, int taken);

/// Forgets the symbols that inference made for the node and the nodes in its bodies.
void forget_symbols(Node& node);

}  // namespace gcg
