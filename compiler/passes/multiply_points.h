// Pass: multiply-points.
#pragma once

#include "compiler/ir/graph.h"
#include "compiler/kernel/target.h"

namespace gcg {

/// Turns a pointwise convolution that stands alone into a matrix product of its weights and the points of each image.
/// Blocked channels would need a copy of the input and one of the result, and all channels up to a multiple of 16. A
/// product needs neither. A convolution stands alone if its input comes from the model's inputs or from a view or
/// transpose, and its result goes only to outputs, views and transposes.
///
/// Weights of fewer bits are stored only for blocked channels, so other precisions than fp32 keep the convolution.
/// Requires: canonicalize.
/// Ensures: the graph is inferred.
/// Before: block-channels.
/// Example: Conv(x[n,54,h,w], w[22,54,1,1]) -> View(MatMul(View(w), View(x)))
bool multiply_points(Graph& graph, const Target& target);

}  // namespace gcg
