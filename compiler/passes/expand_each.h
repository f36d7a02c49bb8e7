// What passes that write one operator as others have in common.
#pragma once

#include "compiler/ir/graph.h"

namespace gcg {

/// Calls `expand`, which replaces the node and erases it, for every node of the operator, in bodies too, innermost
/// first, and infers the graph if there was one. Returns whether there was.
bool expand_each(Graph& graph, const OpDef& op, void (*expand)(Graph& graph, NodeId id));
/// The same where `expand` may leave a node as it is, and returns whether it replaced it. Returns whether any was.
bool expand_some(Graph& graph, const OpDef& op, bool (*expand)(Graph& graph, NodeId id));

}  // namespace gcg
