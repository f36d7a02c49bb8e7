// Greedy selection of boxes as a Loop.
#pragma once

#include "compiler/ir/graph.h"

namespace gcg {

/// Requires: every value has a rank.
/// Ensures: no NonMaxSuppression is left, in bodies neither; the graph is inferred.
/// Before: expand-selection and expand-top-k, whose operators it uses.
///
/// Boxes are sorted by score. An iteration takes the first one left of every batch and class and removes those that overlap
/// it, so there are as many iterations as boxes stay in the class where most do; all classes go along together, as vectors.
/// Their flags, NonZero's rows, are in the order that the operator wants.
bool expand_non_max_suppression(Graph& graph);

}  // namespace gcg
