// Pass: pack_conv_weights (target pass, CUDA).
#pragma once

#include "compiler/ir/graph.h"

namespace gcg {

/// Turns convolutions into gart.PlainConv, which has its own kernel (an implicit matrix product). The weights are
/// transposed from [CO, CI/group, kernel...] to [CO, kernel..., CI/group]. A row of this matrix holds one tap after
/// the other, with all channels of a tap side by side.
///
/// The pass takes f32 Convs of 1 to 3 spatial dimensions with known channels and kernel extents, except those with
/// infinite weights. A depthwise Conv with constant weights is not a matrix product, but a loop over taps. Its weights
/// become [1, kernel..., CO], so that neighbouring threads read neighbouring channels.
///
/// Requires: pads, Mul and Add are folded into convolutions where possible (canonicalise).
/// Ensures: the Convs that are left have a form or weights that the kernel does not support.
/// Before: fold_constants, which transposes constant weights.
/// Example: Conv(x[1,8,9,9], w[32,8,3,3], b) -> gart.PlainConv(x, Transpose(w) {perm=[0,2,3,1]}, b)
bool pack_conv_weights(Graph& graph);

/// False for constant f32 weights with an infinity or a NaN. A matrix product also multiplies by the zeros around the
/// input; an infinite weight would turn these into NaN.
bool has_finite_weights(const Value& weights);

}  // namespace gcg
