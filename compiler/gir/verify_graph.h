// The invariants of every graph between passes.
#pragma once

#include "compiler/ir/graph.h"

namespace gcg {

/// Checks the invariants of the graph and of its subgraphs; throws InternalError naming node and value.
void verify_graph(const Graph& graph);

}  // namespace gcg
