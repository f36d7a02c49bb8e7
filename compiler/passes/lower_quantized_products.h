// gart.QuantizedMatMul, as the device multiplies.
#pragma once

#include "compiler/ir/graph.h"
#include "compiler/kernel/target.h"

namespace gcg {

/// Products by packed words (BlockPacking) where the device multiplies them; else by weights in f32.
///
/// Requires: weights are signed integers of 2, 4 or 8 bits; blocks are whole words, or a column.
bool lower_quantized_products(Graph& graph, const Target& target);

}  // namespace gcg
