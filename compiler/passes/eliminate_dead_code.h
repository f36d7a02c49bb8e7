// Pass: eliminate-dead-code.
#pragma once

#include "compiler/ir/graph.h"

namespace gcg {

/// Removes nodes and values that no output depends on, and frees the data of constants.
/// Requires: nothing.
/// Ensures: every node has an output that is read. Unread outputs are omitted if the operator allows it. No If has an
///   unread output, no Loop or Scan an unread scan output. No node captures a value that its subgraphs do not read.
/// Before: fusion, because a dead reader would keep a value in memory.
/// Examples: y = Relu(x), unread -> nothing
///           y, mask = MaxPool(x), mask unread -> y = MaxPool(x)
bool eliminate_dead_code(Graph& graph);

}  // namespace gcg
