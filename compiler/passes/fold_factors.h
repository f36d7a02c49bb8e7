// Pass: fold-factors.
#pragma once

#include "compiler/ir/graph.h"

namespace gcg {

/// Moves a multiplication by one number up to the weights of the product it comes from, through views, transposes,
/// splits and constant offsets. If that fails, moves it down past the matrix product that reads it. This removes the
/// scaling of queries and keys in attention, so that they can be read where they are stored.
/// Requires: canonicalize (constants come second).
/// Ensures: the only reader of a MatMul with a constant matrix, or of a Conv with constant weights, is not a Mul by one
///   number, not even through such nodes. No operand of an f32 MatMul is such a Mul, not even through movement.
/// Before: packing, fusion.
/// Example: Mul(Transpose(View(Add(MatMul(x, w), b))), {0.5}) -> Transpose(View(Add(MatMul(x, w * 0.5), b * 0.5)))
///          MatMul(Transpose(Mul(x, {0.5})), z) -> Mul(MatMul(Transpose(x), z), {0.5})
bool fold_factors(Graph& graph);

}  // namespace gcg
