// Pass: fold-scale-shift.
#pragma once

#include "compiler/ir/graph.h"

namespace gcg {

/// Folds factors and offsets per channel into the weights before them; this is how batch normalisation disappears.
/// Requires: canonicalize (BatchNormalization has become Mul and Add, constants come second) and fold-constants.
/// Ensures: no Conv with constant weights is followed by a Mul or Add with a constant per output channel (or one
/// number)
///   alone; no MatMul with a constant matrix by such a Mul; no normalisation with constant weights by either.
/// Before: layout and packing passes, after which weights have other shapes.
/// Example: Add(Mul(Conv(x, w), s[C,1,1]), t[C,1,1]) -> Conv(x, w * s, t)
bool fold_scale_shift(Graph& graph);

}  // namespace gcg
