// Pass: expand_conv_transpose (model pass).
#pragma once

#include "compiler/ir/graph.h"

namespace gcg {

/// Turns a transposed convolution into ordinary convolutions of stride 1, one per sub-pixel phase. Along a dimension,
/// output o belongs to phase o mod stride. All outputs of a phase use the same kernel taps: those with (o + pad - tap *
/// dilation) divisible by the stride. Together the phases do exactly the multiplications of the transposed convolution.
///
/// A transposed convolution with few output channels and many input channels becomes a matrix product instead. It
/// multiplies every tap by every input element; then each output sums its taps. Convolutions would compute a whole
/// block of channels.
///
/// With more than 16 phases, one product makes the patch of results that each input element adds to. An output is the
/// sum of at most 64 patches, as in an inverse short-time Fourier transform. The transposed convolution stays unchanged
/// if an output would need more patches, or if only a run knows its weights or padding.
///
/// Requires: every value has a rank.
/// Ensures: a ConvTranspose that is left has weights or padding that only a run knows, or needs more than 64 patches.
/// Before: fold_scale_shift, which folds later operators into the convolutions; fold_constants, which makes their
///   weights.
/// Example, stride 2, kernel 4, pads 1, 1 (w transposed and its taps picked):
///   ConvTranspose(x[1,8,n], w[8,6,4]) ->
///     gart.Interleave(Conv(x, w[6,8, 3,1]) {pads=[1,0]}, Conv(x, w[6,8, 2,0]) {pads=[0,1]}) {axes=[2], steps=[2]}
bool expand_conv_transpose(Graph& graph);

}  // namespace gcg
