// Products by dequantised constants, as products by the integers and their scales.
#pragma once

#include "compiler/ir/graph.h"

namespace gcg {

/// MatMul or Gemm of a and DequantizeLinear(q, scale, zero), of constants of 8 bits or fewer with scales for columns or
/// their blocks, becomes gart.QuantizedMatMul. Small weights are left: a cache has them in f32. Unsigned weights are
/// stored less the middle of their range, which signed integers of as many bits hold; offsets in f32 make up for it.
///
/// Requires: DequantizeLinear of constants is not folded yet.
bool keep_quantized_weights(Graph& graph);

}  // namespace gcg
