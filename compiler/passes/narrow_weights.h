// Pass: narrow_weights (target pass, CPU).
#pragma once

#include "compiler/ir/graph.h"
#include "compiler/kernel/target.h"

namespace gcg {

/// Marks constants that CPU contractions read to be stored in 16 bits (Value::stored): packed matrices, weights of
/// blocked convolutions, and tables that rows are gathered from. Kernels widen them in registers and compute in f32. A
/// file of f16 weights is therefore as small as its model, and a product of few rows reads half the bytes. Nothing else
/// is rounded.
///
/// A constant stays in f32 if something else reads it. It also stays in f32 if 16 bits lose more than normal rounding:
/// elements outside f16's range, or denormal ones.
///
/// Requires: weights are constants in their final order. Without a target precision of fp16 or bf16, nothing is marked.
/// Ensures: only marks of constants change. Each marked constant loses no more than a normal rounding to 16 bits.
/// Example: gart.PackedMatMul(x, W) -> gart.PackedMatMul(x, W as f16)
bool narrow_weights(Graph& graph, const Target& target);

}  // namespace gcg
