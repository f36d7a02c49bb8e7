// Products by dequantised constants, as products by the integers and their scales.
#pragma once

#include "compiler/ir/graph.h"

namespace gcg {

/// MatMul(a, DequantizeLinear(q, scale, zero)) with constants of 8 bits or fewer and scales for whole columns or for
/// blocks of them becomes gart.QuantizedMatMul. Small weights are left: a cache has them in f32.
bool keep_quantized_weights(Graph& graph);

}  // namespace gcg
