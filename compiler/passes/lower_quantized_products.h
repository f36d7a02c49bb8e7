// Lowers gart.QuantizedMatMul to the products that the device supports.
#pragma once

#include "compiler/ir/graph.h"
#include "compiler/kernel/target.h"

namespace gcg {

/// Uses products by packed words (BlockPacking) if the target supports them (compiler/kernel/block_products.h),
/// otherwise products by weights in f32.
///
/// Requires: weights are signed integers of 2, 4 or 8 bits; blocks are whole words, or a column.
/// Ensures: no gart.QuantizedMatMul is left.
bool lower_quantized_products(Graph& graph, const Target& target);

}  // namespace gcg
