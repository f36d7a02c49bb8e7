// Turns a Range over floats that are whole numbers into a Range over integers.
#pragma once

#include "compiler/ir/graph.h"

namespace gcg {

/// Requires: every value has a rank.
/// Ensures: no float Range is left whose start, limit and delta are whole constants or casts of integers. Its length is
///   known whenever that of the integer Range is. The graph is inferred.
/// Before: all passes that look at extents.
/// Example: Range(0.0, Cast(height), 1.0) -> Cast(Range(0, height, 1)): the grid of a detector.
bool count_in_integers(Graph& graph);

}  // namespace gcg
