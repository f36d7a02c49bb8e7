// Makes subgraphs capture a parameter, instead of holding a constant of their own.
#pragma once

#include "compiler/ir/graph.h"

namespace gcg {

/// Makes the subgraphs of all nodes, at any depth, read `parameter`, a value of the graph, in place of constants with
/// the data `tensor`. Returns true if a subgraph read it.
bool capture_parameter(Graph& graph, const Tensor* tensor, ValueId parameter);

}  // namespace gcg
