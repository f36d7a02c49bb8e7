// Scan outputs of loops whose rows have extents that only a run knows.
#pragma once

#include "compiler/ir/graph.h"

namespace gcg {

/// Requires: every value but such outputs has a rank; no Scan is left.
/// Ensures: no Loop, in bodies neither, has a scan output whose rows have an extent, or a rank, that nobody knows: what
///   it stacks is a sequence that the loop carries, taken apart at once; the graph is inferred.
/// Before: appends-as-rows and grow-scan-outputs, which make rows of what such sequences append.
/// Example: rows = Loop(...; x[:n]), n of the data
///       -> rows = ConcatFromSequence(Loop(..., SequenceEmpty(); SequenceInsert(so far, x[:n]))) {new_axis = 1}
bool stack_unknown_rows(Graph& graph);

}  // namespace gcg
