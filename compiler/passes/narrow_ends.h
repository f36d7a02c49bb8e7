// Pass: narrow_ends (target pass, CUDA).
#pragma once

#include "compiler/ir/graph.h"
#include "compiler/kernel/target.h"

namespace gcg {

/// Inputs and outputs of 16 bits, beside which the graph computes in f32, are f32 values that are stored in 16 bits
/// (Value::stored): no kernel converts them, and contractions read and write them as they are. In memory, where the
/// caller sees them, nothing changes.
///
/// Of an input all readers must be Casts; those of it stay that serve a convolution, for which they bring the channels
/// together, and nodes that take no other type (control flow, programs). An output is stored in 16 bits if nothing else
/// reads it, or if narrow_storage has said so before. Where contractions multiply f16, inputs and outputs of bf16 stay
/// as they are, and the other way round.
///
/// Requires: Value::stored of all other values is decided.
/// Example: g(x: f16) { a = Cast(x); b = MatMul(a, w); y = Cast(b) } -> g(x: f32 as f16) { y as f16 = MatMul(x, w) }
bool narrow_ends(Graph& graph, const Target& target);

}  // namespace gcg
