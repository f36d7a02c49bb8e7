// Scan outputs of loops whose number of iterations is unknown.
#pragma once

#include "compiler/ir/graph.h"

namespace gcg {

/// If only the trip count depends on data, it becomes an extent of a value. If a condition ends the loop, the loop runs
/// in chunks of more and more iterations, and the results of the chunks are concatenated. The total copying is linear
/// in the number of rows.
/// Requires: every value has a rank; no Scan is left.
/// Ensures: no Loop, subgraphs included, has a scan output with a data-dependent number of rows, if all rows have the
///   same extents; the graph is inferred.
/// Before: bind_extents, which handles growing values.
/// Example: y = Loop(, go; s) with a scan output becomes a loop over chunks, y = Loop(, go; n = 0, s, zeros [0, ..]).
///   A chunk is m, s, rows = Loop(Max(n, 64), ; n, s), with one row for each iteration that it may run.
///   The loop over chunks carries Concat(y so far, rows[:m - n]).
bool grow_scan_outputs(Graph& graph);

}  // namespace gcg
