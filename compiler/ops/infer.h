// Type and shape inference over a graph.
#pragma once

#include "compiler/ir/graph.h"

namespace gcg {

/// Infers one node (its inputs are typed), setting dtype, shape and contents of its outputs.
void infer_node(Graph& graph, NodeId node, Graph& outermost);
/// Infers every node in order, bodies included. Values keep declared shapes where inference learns nothing.
void infer_graph(Graph& graph);

}  // namespace gcg
