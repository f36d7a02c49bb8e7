// Helpers for operators that quantise at run time.
#pragma once

#include "compiler/ops/node_builder.h"

namespace gcg {

/// An 8-bit tensor that represents scale * (values - zero_point). A factor of a product has one scale per column, or
/// one for all. An omitted zero point is 0.
struct QuantizedFactor {
  ValueId values, scale, zero_point;
};
/// x as u8, with the scale and zero point from its range, as DynamicQuantizeLinear defines them.
QuantizedFactor dynamically_quantized(NodeBuilder& b, ValueId x);
/// MatMul of the represented values, in f32.
ValueId scaled_product(NodeBuilder& b, const QuantizedFactor& left, const QuantizedFactor& right);

}  // namespace gcg
