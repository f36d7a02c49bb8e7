// Greedy selection of boxes.
#pragma once

#include "compiler/ir/graph.h"

namespace gcg {

/// Requires: every value has a rank.
/// Ensures: no NonMaxSuppression is left, in bodies neither; the graph is inferred.
/// Before: expand-selection and expand-top-k, whose operators it uses.
///
/// Boxes are sorted by score, gart.Suppress says which stay, and their flags, NonZero's rows, are in the order that the
/// operator wants.
bool expand_non_max_suppression(Graph& graph);

}  // namespace gcg
