// Expands deformable convolutions into matrix products.
#pragma once

#include "compiler/ir/graph.h"

namespace gcg {

/// Requires: every value has a rank.
/// Ensures: no DeformConv is left, subgraphs included; the graph is inferred.
/// Before: constant folding (constant weights are put in the product's order), fusion.
///
/// Channels come last, so that all channels that a tap reads at a position are contiguous:
///   DeformConv(x, w, offset, b, mask) =
///     Transpose(MatMul(gart.DeformColumns(Transpose(x), offset, mask) as [N, positions, taps * C], w as [taps * C, M])
///     + b)
bool expand_deform_conv(Graph& graph);

}  // namespace gcg
