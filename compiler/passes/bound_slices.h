// Slices of known length at a data-dependent position.
#pragma once

#include "compiler/ir/graph.h"

namespace gcg {

/// Pass: bound-slices. A slice of length 1 then broadcasts like 1.
/// Requires: constants are folded.
/// Ensures: a Slice from s to s + n of one dimension has n as its greatest length in "gart.most"; the graph is
///   inferred.
/// Before: resolve-ranks, which makes an extent without a known limit agree with those of other operands.
/// Example: Slice(x, s, Add(s, 1)) -> the same with gart.most = 1, whose extent is min(sliced, 1) for sliced
bool bound_slices(Graph& graph);

}  // namespace gcg
