// Scan outputs of loops that nobody knows the end of.
#pragma once

#include "compiler/ir/graph.h"

namespace gcg {

/// Requires: every value has a rank; no Scan is left.
/// Ensures: no Loop, in bodies neither, has a scan output whose number of rows depends on data and whose rows have the same
///   extents everywhere; the graph is inferred.
/// Before: bind_extents, which makes growing values work.
/// Example: y = Loop(..) with the scan output row  ->  y = Loop(.., zeros [0, ..]) that carries Concat(y so far, row)
bool grow_scan_outputs(Graph& graph);

}  // namespace gcg
