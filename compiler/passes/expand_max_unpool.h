// MaxUnpool as a scatter.
#pragma once

#include "compiler/ir/graph.h"

namespace gcg {

/// Requires: every value has a rank.
/// Ensures: no MaxUnpool is left, in bodies neither; the graph is inferred.
/// Before: constant folding, which makes the shapes.
/// Example: MaxUnpool(x, indices) = Reshape(ScatterElements(zeros, flat indices, flat x), s), where s is the shape that
///   kernel, strides and pads give; a larger output_shape is padded to.
bool expand_max_unpool(Graph& graph);

}  // namespace gcg
