// Pass: eliminate-dead-code.
#pragma once

#include "compiler/ir/graph.h"

namespace gcg {

/// Removes what no output depends on.
/// Requires: nothing.
/// Ensures: every node has an output that is read; outputs nobody reads are omitted where the operator allows it; no If
///   has an unread output, no Loop or Scan an unread scan output; no node captures a value that its bodies do not read.
/// Before: fusion, for which a reader that is dead would keep a value in memory.
/// Examples: y = Relu(x), unread -> nothing
///           y, mask = MaxPool(x), mask unread -> y = MaxPool(x)
bool eliminate_dead_code(Graph& graph);

}  // namespace gcg
