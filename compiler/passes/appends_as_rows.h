// Values that a loop only appends to.
#pragma once

#include "compiler/ir/graph.h"

namespace gcg {

/// Requires: every value has a rank; no Scan is left.
/// Ensures: a value that a Loop carries, that its body does nothing with but append parts of the same extents, is a
/// scan output of the
///   parts instead, so that no turn copies what there is; the graph is inferred.
/// Before: grow-scan-outputs, which knows how rows become many.
/// Example: y = Loop(.., x0) {y' = Concat(y, part[1, 4])}  ->  y = Concat(x0, Squeeze(rows)); rows = Loop(..) {part}
bool appends_as_rows(Graph& graph);

}  // namespace gcg
