// Expands optimizer steps into arithmetic.
#pragma once

#include "compiler/ir/graph.h"

namespace gcg {

/// Requires: every value has a rank.
/// Ensures: no Adagrad, Adam or Momentum is left, subgraphs included; the graph is inferred.
/// Before: fusion, which makes one kernel of all updates of a tensor.
bool expand_optimizers(Graph& graph);

}  // namespace gcg
