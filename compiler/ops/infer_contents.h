// Elements of small integer tensors as expressions over the symbols, from the operators' own lowerings.
#pragma once

#include "compiler/ir/graph.h"

namespace gcg {

/// Fills in the contents of the node's small integer and boolean outputs that its inference left open, where every
/// element follows from constants and known contents: the lowering is evaluated at each index. Any rank.
void infer_contents(Graph& graph, const Node& node);

}  // namespace gcg
