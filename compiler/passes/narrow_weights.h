// Pass: narrow_weights (target pass, CPU).
#pragma once

#include "compiler/ir/graph.h"
#include "compiler/kernel/target.h"

namespace gcg {

/// Marks what CPUs' contractions read of constants to be stored in 16 bits (Value::stored): packed matrices, weights of
/// blocked convolutions, and tables that rows are gathered from. Kernels widen them in registers and compute in f32, so
/// a file of f16 weights is as small as its model, and a product of few rows reads half the bytes. Nothing else is
/// rounded.
///
/// A constant stays in f32 where 16 bits would lose more than their rounding does (elements beyond f16's range, or so
/// small that they are denormal), or where something else reads it.
///
/// Requires: weights are constants in their final order. The target's precision: fp16 or bf16; with others nothing is
/// marked. Example: gart.PackedMatMul(x, W) -> gart.PackedMatMul(x, W as f16)
bool narrow_weights(Graph& graph, const Target& target);

}  // namespace gcg
