// Pass: fold-scale-shift.
#pragma once

#include "compiler/ir/graph.h"

namespace gcg {

/// Folds per-channel factors and offsets into the weights before them. This removes batch normalisation.
/// Requires: canonicalize (BatchNormalization has become Mul and Add, constants come second) and fold-constants.
/// Ensures: the only reader of a Conv with constant weights is never a Mul or Add with a constant per output channel
///   (or one number). The same holds for a normalisation with constant weights. The only reader of a MatMul with a
///   constant matrix is never such a Mul.
/// Before: layout and packing passes, after which weights have other shapes.
/// Example: Add(Mul(Conv(x, w), s[C,1,1]), t[C,1,1]) -> Conv(x, w * s, t)
bool fold_scale_shift(Graph& graph);

}  // namespace gcg
