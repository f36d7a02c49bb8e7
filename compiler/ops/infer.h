// Type and shape inference over a graph.
#pragma once

#include <vector>

#include "compiler/ir/graph.h"

namespace gcg {

/// Infers one node and sets dtype, shape and contents of its outputs. Requires: its inputs are typed. Conditions on its
/// extents are recorded in `graph`'s constraints.
void infer_node(Graph& graph, NodeId node, Graph& outermost);
/// Infers a subgraph from scratch with these input types, and returns its outputs. Conditions on its extents are
/// recorded in its own constraints, because they only need to hold when it runs.
std::vector<Value> infer_body(Graph& body, const std::vector<Value>& input_types, Graph& outermost);
/// Infers every node in order, subgraphs included. Values keep declared shapes if inference learns nothing.
void infer_graph(Graph& graph);

}  // namespace gcg
