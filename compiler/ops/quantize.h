// What operators that quantise as they run are written with.
#pragma once

#include "compiler/ops/node_builder.h"

namespace gcg {

/// x in u8 with the scale and zero point that its range asks for, as DynamicQuantizeLinear defines them.
struct DynamicallyQuantized {
  ValueId y, scale, zero_point;
};
DynamicallyQuantized dynamically_quantized(NodeBuilder& b, ValueId x);

}  // namespace gcg
