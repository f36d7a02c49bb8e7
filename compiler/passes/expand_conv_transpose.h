// Pass: expand_conv_transpose (model pass).
#pragma once

#include "compiler/ir/graph.h"

namespace gcg {

/// Turns a transposed convolution into ordinary ones of stride 1, one for each phase of its strides. Output o of a
/// dimension is of phase o mod stride; all outputs of a phase meet the same taps of the kernel, those with
/// (o + pad - tap * dilation) divisible by the stride. Together they multiply exactly what the transposed one does.
///
/// One of few outputs and many inputs is a matrix product instead, of every tap with every element of the input, and
/// the sums over the taps that an output meets: convolutions would compute a whole block of channels for it.
///
/// Left as it is: weights or a padding that only a run knows, and more than 16 phases; but where each element of the
/// input makes a patch by itself (strides as large as the kernel), one product makes all patches of however many.
///
/// Requires: every value has a rank.
/// Before: fold_scale_shift, which folds what follows into the convolutions; fold_constants, which makes their weights.
/// Example, stride 2, kernel 4, pads 1, 1 (w transposed and its taps picked):
///   ConvTranspose(x[1,8,n], w[8,6,4]) ->
///     gart.Interleave(Conv(x, w[6,8, 3,1]) {pads=[1,0]}, Conv(x, w[6,8, 2,0]) {pads=[0,1]}) {axes=[2], steps=[2]}
bool expand_conv_transpose(Graph& graph);

}  // namespace gcg
