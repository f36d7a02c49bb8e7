// Lists the nodes that cannot be compiled, before any other work.
#pragma once

#include <vector>

#include "compiler/ir/graph.h"
#include "compiler/support/unsupported.h"

namespace gcg {

/// One row per node that must run but cannot, subgraphs included. Such a node has no kernel, or is the first with a
/// data-dependent extent that nothing computes.
/// Requires: types are inferred, target passes are done.
std::vector<UnsupportedNode> find_unsupported(const Graph& graph);

}  // namespace gcg
