// Products by dequantised constants, as products by the integers and their scales.
#pragma once

#include "compiler/ir/graph.h"

namespace gcg {

/// MatMul or Gemm of a and DequantizeLinear(q, scale, zero), of constants of 8 bits or fewer with scales for columns or
/// their blocks, becomes gart.QuantizedMatMul. Small weights are left: a cache has them in f32.
bool keep_quantized_weights(Graph& graph);

}  // namespace gcg
