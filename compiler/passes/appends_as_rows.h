// Loop-carried values that the loop only appends to.
#pragma once

#include "compiler/ir/graph.h"

namespace gcg {

/// Turns a carried value into a scan output if the subgraph only appends parts of equal extents to it. Then no
/// iteration copies the earlier parts.
/// Requires: every value has a rank; no Scan is left.
/// Ensures: no Loop carries such a value; the graph is inferred.
/// Before: grow-scan-outputs, which handles an unknown number of rows.
/// Example: y = Loop(.., x0) {y' = Concat(y, part[1, 4])}  ->  y = Concat(x0, Squeeze(rows)); rows = Loop(..) {part}
bool appends_as_rows(Graph& graph);

}  // namespace gcg
