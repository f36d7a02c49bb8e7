// Handles scan outputs of loops whose rows have extents that only a run knows.
#pragma once

#include "compiler/ir/graph.h"

namespace gcg {

/// Requires: every value except such outputs has a rank; no Scan is left.
/// Ensures: no Loop, subgraphs included, has a scan output whose rows have an unknown extent or rank. The loop carries
///   a sequence of the rows instead, which is taken apart at once. The graph is inferred.
/// Before: appends-as-rows and grow-scan-outputs, which turn the elements that such sequences append into rows.
/// Example, where n depends on data: rows = Loop(...; x[:n])
///       -> rows = ConcatFromSequence(Loop(..., SequenceEmpty(); SequenceInsert(so far, x[:n]))) {new_axis = 1}
bool stack_unknown_rows(Graph& graph);

}  // namespace gcg
