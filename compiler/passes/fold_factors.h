// Pass: fold-factors.
#pragma once

#include "compiler/ir/graph.h"

namespace gcg {

/// Moves multiplication by one number up to the weights the product comes from, through views, transposes, splits and
/// constant offsets; failing that, down after the matrix product it goes into. The scaling of attention's queries and
/// keys disappears in this way, and they can be read where they are.
/// Requires: canonicalize (constants come second).
/// Ensures: no Mul by one number reads, through such nodes and as their only reader, a MatMul with a constant matrix or
/// a
///   Conv with constant weights; no operand of an f32 MatMul is, through movement, such a Mul.
/// Before: packing, fusion.
/// Example: Mul(Transpose(View(Add(MatMul(x, w), b))), {0.5}) -> Transpose(View(Add(MatMul(x, w * 0.5), b * 0.5)))
///          MatMul(Transpose(Mul(x, {0.5})), z) -> Mul(MatMul(Transpose(x), z), {0.5})
bool fold_factors(Graph& graph);

}  // namespace gcg
