// Slices of known length at a place that depends on data.
#pragma once

#include "compiler/ir/graph.h"

namespace gcg {

/// Pass: bound-slices.
/// Requires: constants folded.
/// Ensures: a Slice from s to s + n of one dimension says in "gart.most" that it is no longer than n, so that the slice
/// of one broadcasts like 1; the graph is inferred.
/// Before: resolve-ranks, which makes of an extent whose limit is not known one that agrees with its partners.
/// Example: Slice(x, s, Add(s, 1)) -> the same with gart.most = 1, whose extent is min(sliced, 1) for sliced
bool bound_slices(Graph& graph);

}  // namespace gcg
