// Shared code of passes that expand one operator into others.
#pragma once

#include "compiler/ir/graph.h"

namespace gcg {

/// Calls `expand` for every node of the operator, subgraphs included, innermost first. `expand` replaces the node and
/// erases it. If there is such a node, infers the graph and returns true.
bool expand_each(Graph& graph, const OpDef& op, void (*expand)(Graph& graph, NodeId id));
/// The same, but `expand` may leave a node unchanged; it returns whether it replaced the node. Returns whether any node
/// was replaced.
bool expand_some(Graph& graph, const OpDef& op, bool (*expand)(Graph& graph, NodeId id));

}  // namespace gcg
