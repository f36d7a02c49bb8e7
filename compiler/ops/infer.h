// Type and shape inference over a graph.
#pragma once

#include <vector>

#include "compiler/ir/graph.h"

namespace gcg {

/// Infers one node (its inputs are typed), setting dtype, shape and contents of its outputs. What must hold for its
/// extents is recorded in `graph`'s constraints.
void infer_node(Graph& graph, NodeId node, Graph& outermost);
/// Infers a body with these types of its inputs, from nothing, and returns its outputs. What must hold for its extents
/// is recorded in the body's own constraints: it only needs to hold when the body runs.
std::vector<Value> infer_body(Graph& body, const std::vector<Value>& input_types, Graph& outermost);
/// Infers every node in order, bodies included. Values keep declared shapes where inference learns nothing.
void infer_graph(Graph& graph);

}  // namespace gcg
