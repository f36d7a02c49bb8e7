// Pass: narrow_ends (target pass, CUDA).
#pragma once

#include "compiler/ir/graph.h"
#include "compiler/kernel/target.h"

namespace gcg {

/// Turns f16 and bf16 inputs and outputs of a graph that computes in f32 into f32 values stored in 16 bits
/// (Value::stored). Their memory, which the caller owns, stays the same. No kernel casts them, and contractions read
/// and write them directly.
///
/// An input changes if all its readers are Casts. Nodes that read such a Cast read the input instead. The Cast stays
/// for a convolution, because it also moves the channels innermost, and for control flow and programs, which need f32
/// in memory. An output changes if nothing else reads its f32 value, or if narrow_storage stores that value in 16 bits
/// anyway. If the target multiplies f16, bf16 inputs and outputs stay as they are. If it multiplies bf16, f16 inputs
/// and outputs stay.
///
/// Requires: Value::stored of all other values is decided.
/// Ensures: an input or output that changes has the same bytes; its type is f32, stored in 16 bits.
/// Example: g(x: f16) { a = Cast(x); b = MatMul(a, w); y = Cast(b) } -> g(x: f32 as f16) { y as f16 = MatMul(x, w) }
bool narrow_ends(Graph& graph, const Target& target);

}  // namespace gcg
