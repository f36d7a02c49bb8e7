// Pass: merge_quantization.
#pragma once

#include "compiler/ir/graph.h"

namespace gcg {

/// Makes QuantizeLinear part of what is before it. Where it undoes a DequantizeLinear of the same scale and zero point
/// after operators that only choose among elements (views, movement, max pools), those work on the quantised elements.
/// A factor before it, or the scale of what is dequantised there, is divided by its scale, also those of both terms of
/// a sum; a Relu before it goes where the zero point is the lowest value. Parts are quantised before they are
/// concatenated.
///
/// Requires: DequantizeLinear of constants is folded.
/// Ensures: no QuantizeLinear with one constant scale other than 1 reads a product with a constant, also after an
///   addition of a constant or of another such product, or a Relu, that nothing else reads. Per-tensor QuantizeLinear
///   and DequantizeLinear have no axis.
/// Before: eliminate-dead-code.
/// Examples: QuantizeLinear(MaxPool(DequantizeLinear(x, 0.5, 3)), 0.5, 3) -> MaxPool(x)
///           QuantizeLinear(Relu(Mul(x, 6)), 2, 0) -> QuantizeLinear(Mul(x, 3), 1, 0)
bool merge_quantization(Graph& graph);

}  // namespace gcg
