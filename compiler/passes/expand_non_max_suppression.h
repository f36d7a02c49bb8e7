// Expands NonMaxSuppression, the greedy selection of boxes.
#pragma once

#include "compiler/ir/graph.h"

namespace gcg {

/// Requires: every value has a rank.
/// Ensures: no NonMaxSuppression is left, subgraphs included; the graph is inferred.
/// Before: expand-selection and expand-top-k, whose operators it uses.
///
/// Boxes are sorted by score. gart.Suppress computes a flag for each box that stays. NonZero's rows of these flags have
/// the order that the operator requires.
bool expand_non_max_suppression(Graph& graph);

}  // namespace gcg
