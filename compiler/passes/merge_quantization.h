// Pass: merge_quantization.
#pragma once

#include "compiler/ir/graph.h"

namespace gcg {

/// Merges QuantizeLinear into the operators before it:
///   * A QuantizeLinear may undo a DequantizeLinear of the same scale and zero point. If the operators between
///     them only select elements (views, movement, max pools), they run on the quantised elements.
///   * A factor before it, or the scale of a DequantizeLinear there, is divided by its scale. The same is done to
///     both terms of a sum.
///   * A Relu before it is removed if the zero point is the lowest value.
///   * Operands of a concatenation are quantised before they are joined.
///
/// Requires: DequantizeLinear of constants is folded.
/// Ensures: a QuantizeLinear with one constant scale other than 1 is never the only reader of a product with a
///   constant. This includes products followed by a Relu, or by an addition of a constant or of another such product.
///   Per-tensor QuantizeLinear and DequantizeLinear have no axis.
/// Before: eliminate-dead-code.
/// Examples: QuantizeLinear(MaxPool(DequantizeLinear(x, 0.5, 3)), 0.5, 3) -> MaxPool(x)
///           QuantizeLinear(Relu(Mul(x, 6)), 2, 0) -> QuantizeLinear(Mul(x, 3), 1, 0)
bool merge_quantization(Graph& graph);

}  // namespace gcg
