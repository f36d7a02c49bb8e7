// What operators that quantise as they run are written with.
#pragma once

#include "compiler/ops/node_builder.h"

namespace gcg {

/// A tensor in bytes that stands for scale * (values - zero_point). A factor of a product has a scale of its own per
/// column or one for all; without a zero point it is 0.
struct QuantizedFactor {
  ValueId values, scale, zero_point;
};
/// x in u8 with the scale and zero point that its range asks for, as DynamicQuantizeLinear defines them.
QuantizedFactor dynamically_quantized(NodeBuilder& b, ValueId x);
/// MatMul of what both stand for, in f32.
ValueId scaled_product(NodeBuilder& b, const QuantizedFactor& left, const QuantizedFactor& right);

}  // namespace gcg
