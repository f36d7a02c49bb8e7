// Pass: split_by_phase (model pass).
#pragma once

#include "compiler/ir/graph.h"

namespace gcg {

/// Pointwise work on interleaved tensors, whose other operands are the same along the interleaved axes, is done before
/// they are interleaved: there it folds into, or is computed with, what makes each of them.
///
/// Requires: types inferred. Before: fold_scale_shift.
/// Example: Relu(gart.Interleave(a, b) {axes=[2], steps=[2]}) -> gart.Interleave(Relu(a), Relu(b)) {axes=[2],
/// steps=[2]}
bool split_by_phase(Graph& graph);

}  // namespace gcg
