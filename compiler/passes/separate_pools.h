// Splits a pool into one pool per dimension.
#pragma once

#include "compiler/ir/graph.h"

namespace gcg {

/// Requires: every value has a rank.
/// Ensures: a MaxPool or AveragePool whose window is much larger than its sides is one pool per dimension, outermost
///   first, if that reads less; the graph is inferred.
/// Before: block-channels.
/// Example: MaxPool(x, kernel_shape [5, 5]) = MaxPool(MaxPool(x, kernel_shape [5, 1]), kernel_shape [1, 5]): 10 loads
///   instead of 25
bool separate_pools(Graph& graph);

}  // namespace gcg
