// Pass: integer_contractions.
#pragma once

#include "compiler/ir/graph.h"

namespace gcg {

/// Turns products and convolutions of dequantised 8-bit values into products of the 8-bit values themselves. These are
/// summed in i32 and scaled afterwards, which is the intent of models in QDQ form:
/// DequantizeLinear -> operator -> QuantizeLinear.
///
/// The weights must be constants, possibly transposed. x must have one scale, the weights one scale or one per output
/// channel. A bias that is quantised by the product of the scales is added to the sums. Each sum, with its bias, fits
/// i32 for any data: deeper products stay floats, and larger biases are added as floats.
///
/// Requires: DequantizeLinear of constants is not folded yet. Values and weights have 8 bits.
/// Ensures: no MatMul, Gemm (alpha = beta = 1, A not transposed) or Conv of that form with at most 33,025 products per
///   sum is left.
/// Before: canonicalize, and fold_constants, which computes the remaining DequantizeLinears of constants.
/// Example: Conv(DequantizeLinear(x, 0.5, 3), DequantizeLinear(W, {0.25, 2}), DequantizeLinear(B, {0.125, 1})) ->
///   Mul(Cast(Add(ConvInteger(x, W, 3), B)), {0.125, 1})
bool integer_contractions(Graph& graph);

}  // namespace gcg
