// Pass: expand-scan.
#pragma once

#include "compiler/ir/graph.h"

namespace gcg {

/// Writes Scan as Loop.
/// Requires: every value has a rank.
/// Ensures: no Scan is left, in bodies neither; the graph is inferred.
/// Before: fusion and scheduling, which know Loop alone.
/// Example: s, y = Scan(s0, x) {body(s, x_t)}
///       -> s, y = Loop(Shape(x)[0], , s0 | x) {body(s, Gather(x, t))}
/// An axis other than the first moves there by Transpose, a backward output is turned round by Slice.
bool expand_scan(Graph& graph);

}  // namespace gcg
