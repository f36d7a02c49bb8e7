// Pass: pack_conv_weights (target pass, CUDA).
#pragma once

#include "compiler/ir/graph.h"

namespace gcg {

/// Turns convolutions into gart.PlainConv, which is a kernel of its own (an implicit matrix product), with the weights
/// transposed from [CO, CI/group, kernel...] to [CO, kernel..., CI/group]: a matrix whose rows run through the channels
/// of one tap after the other.
///
/// An f32 Conv of 1 to 3 spatial dimensions whose channels and kernel extents are known is turned, but not one with
/// infinite weights. A depthwise one, whose weights are constant, multiplies no matrices: it is a loop over taps, whose
/// weights become [1, kernel..., CO], so that threads take neighbouring channels of all that they read.
///
/// Requires: pads, Mul and Add are folded into convolutions where they can be (canonicalise).
/// Before: fold_constants, which transposes constant weights.
/// Example: Conv(x[1,8,9,9], w[32,8,3,3], b) -> gart.PlainConv(x, Transpose(w) {perm=[0,2,3,1]}, b)
bool pack_conv_weights(Graph& graph);

}  // namespace gcg
