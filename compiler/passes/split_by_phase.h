// Pass: split_by_phase (model pass).
#pragma once

#include "compiler/ir/graph.h"

namespace gcg {

/// Moves pointwise work on interleaved tensors before the interleaving, if its other operands are constant along the
/// interleaved axes. The work can then fold into, or fuse with, the producer of each tensor.
///
/// Requires: types are inferred.
/// Ensures: no pointwise operator reads an interleaved tensor, unless another operand varies along the interleaved
///   axes.
/// Before: fold_scale_shift.
/// Example: Relu(gart.Interleave(a, b) {axes=[2], steps=[2]}) -> gart.Interleave(Relu(a), Relu(b)) {axes=[2],
///   steps=[2]}
bool split_by_phase(Graph& graph);

}  // namespace gcg
