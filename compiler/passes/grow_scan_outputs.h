// Scan outputs of loops that nobody knows the end of.
#pragma once

#include "compiler/ir/graph.h"

namespace gcg {

/// Requires: every value has a rank; no Scan is left.
/// Ensures: no Loop, in bodies neither, has a scan output whose number of rows depends on data and whose rows have the
/// same
///   extents everywhere; the graph is inferred. Where only the count of turns depends on data, it becomes an extent of
///   a value. Where a loop ends by its condition, it runs in chunks of ever more turns, and what the chunks leave is
///   put together: all copying together is linear in the number of rows.
/// Before: bind_extents, which makes growing values work.
/// Example: y = Loop(, go; s) with the scan output row
///       -> y = Loop(, go; n = 0, s, zeros [0, ..]) that carries Concat(y so far, rows[:m - n]) of
///          m, s, rows = Loop(Max(n, 64), ; n, s) with as many rows as it may run turns
bool grow_scan_outputs(Graph& graph);

}  // namespace gcg
