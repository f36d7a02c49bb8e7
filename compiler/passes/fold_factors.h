// Pass: fold-factors.
#pragma once

#include "compiler/ir/graph.h"

namespace gcg {

/// Moves multiplication by one number up to the weights the product comes from, through views, transposes, splits and
/// constant offsets. The scaling of attention's queries and keys disappears in this way.
/// Requires: canonicalize (constants come second).
/// Ensures: no Mul by one number reads, through such nodes and as their only reader, a MatMul with a constant matrix or a
///   Conv with constant weights.
/// Before: packing.
/// Example: Mul(Transpose(View(Add(MatMul(x, w), b))), {0.5}) -> Transpose(View(Add(MatMul(x, w * 0.5), b * 0.5)))
bool fold_factors(Graph& graph);

}  // namespace gcg
