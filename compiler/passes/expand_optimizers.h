// Steps of optimizers as arithmetic.
#pragma once

#include "compiler/ir/graph.h"

namespace gcg {

/// Requires: every value has a rank.
/// Ensures: no Adagrad, Adam or Momentum is left, in bodies neither; the graph is inferred.
/// Before: fusion, which makes one kernel of what happens to a tensor.
bool expand_optimizers(Graph& graph);

}  // namespace gcg
