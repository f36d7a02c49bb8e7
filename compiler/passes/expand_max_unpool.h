// Expands MaxUnpool into a scatter.
#pragma once

#include "compiler/ir/graph.h"

namespace gcg {

/// Requires: every value has a rank.
/// Ensures: no MaxUnpool is left, subgraphs included; the graph is inferred.
/// Before: constant folding, which computes the shapes.
/// Example: MaxUnpool(x, indices) = Reshape(ScatterElements(zeros, flat indices, flat x), s), where s is the shape that
///   kernel, strides and pads give. The result is padded to a larger output_shape.
bool expand_max_unpool(Graph& graph);

}  // namespace gcg
