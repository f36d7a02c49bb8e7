// Pass: sink-constants.
#pragma once

#include "compiler/ir/graph.h"

namespace gcg {

/// Gives the subgraphs of If, Loop and Scan their own copies of captured constants.
/// Requires: nothing.
/// Ensures: no node captures a constant. The data is shared, not copied.
/// Before: fold-constants and the rules about constant operands, which then apply inside subgraphs.
/// Example: constant c; y = If(p | c) then(a) {Add(a, a)} -> y = If(p) then() {constant a; Add(a, a)}
bool sink_constants(Graph& graph);

}  // namespace gcg
