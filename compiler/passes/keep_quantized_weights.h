// Turns products by dequantised constants into products by the integers and their scales.
#pragma once

#include "compiler/ir/graph.h"

namespace gcg {

/// A MatMul or Gemm of a and DequantizeLinear(q, scale, zero) becomes gart.QuantizedMatMul. The constants must have 8
/// bits or fewer, and scales per column or per block of a column. Small weights stay: caches hold them in f32. Unsigned
/// weights are stored minus the middle of their range, as signed integers of the same number of bits. Offsets in f32
/// compensate for this. The product's attribute `exact` stays (BlockPacking). A product by the transposed matrix, which
/// is the gradient of such a product, reads the same integers.
///
/// Requires: DequantizeLinear of constants is not folded yet.
/// Ensures: no product reads a large constant of 8 bits or fewer through a DequantizeLinear that it could compute with.
/// Before: fold_constants.
bool keep_quantized_weights(Graph& graph);

}  // namespace gcg
