// Convolutions with moved taps as matrix products.
#pragma once

#include "compiler/ir/graph.h"

namespace gcg {

/// Requires: every value has a rank.
/// Ensures: no DeformConv is left, in bodies neither; the graph is inferred.
/// Before: constant folding (constant weights are put in the order of the product), fusion.
///
/// Channels come last, so that one tap reads all channels of a position side by side:
///   DeformConv(x, w, offset, b, mask) =
///     Transpose(MatMul(gart.DeformColumns(Transpose(x), offset, mask) as [N, positions, taps * C], w as [taps * C, M])
///     + b)
bool expand_deform_conv(Graph& graph);

}  // namespace gcg
