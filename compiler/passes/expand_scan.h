// Pass: expand-scan.
#pragma once

#include "compiler/ir/graph.h"

namespace gcg {

/// Turns Scan into Loop.
/// Requires: every value has a rank.
/// Ensures: no Scan is left, subgraphs included; the graph is inferred.
/// Before: fusion and scheduling, which only handle Loop.
/// Example: s, y = Scan(s0, x) {body(s, x_t)}
///       -> s, y = Loop(Shape(x)[0], , s0 | x) {body(s, Gather(x, t))}
/// A Transpose moves an axis other than the first to the front. A Slice reverses a backward output.
bool expand_scan(Graph& graph);

}  // namespace gcg
