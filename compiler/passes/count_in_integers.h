// Range over floats that are whole numbers, as a Range over integers.
#pragma once

#include "compiler/ir/graph.h"

namespace gcg {

/// Requires: every value has a rank.
/// Ensures: no float Range is left whose start, limit and delta are whole constants or casts of integers; its length is
///   then known wherever that of the integer one is. The graph is inferred.
/// Before: everything that looks at extents.
/// Example: Range(0.0, Cast(height), 1.0) -> Cast(Range(0, height, 1)): the grid of a detector.
bool count_in_integers(Graph& graph);

}  // namespace gcg
