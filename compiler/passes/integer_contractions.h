// Pass: integer_contractions.
#pragma once

#include "compiler/ir/graph.h"

namespace gcg {

/// Products and convolutions of dequantised 8-bit values become ones of the 8-bit values themselves, summed in i32 and
/// scaled after: what models in QDQ form (DequantizeLinear -> operator -> QuantizeLinear) mean.
///
/// Where the weights are constants, also after a transposition, x has one scale, and the weights have one or one per
/// output channel. A bias that is quantised by the product of the scales is added to the sums. Each sum, with its bias,
/// is a number of i32 whatever the data: deeper products stay floats, and larger biases are added as floats.
///
/// Requires: DequantizeLinear of constants is not folded yet. Values and weights have 8 bits.
/// Ensures: no MatMul, Gemm (alpha = beta = 1, A as it is) or Conv of that form is left, of up to 33,025 products a
/// sum. Before: canonicalize, and fold_constants, which computes the DequantizeLinears of constants that are left.
/// Example: Conv(DequantizeLinear(x, 0.5, 3), DequantizeLinear(W, {0.25, 2}), DequantizeLinear(B, {0.125, 1})) ->
///   Mul(Cast(Add(ConvInteger(x, W, 3), B)), {0.125, 1})
bool integer_contractions(Graph& graph);

}  // namespace gcg
