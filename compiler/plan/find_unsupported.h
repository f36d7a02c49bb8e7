// What of a graph cannot be compiled, found before any work on it.
#pragma once

#include <vector>

#include "compiler/ir/graph.h"
#include "compiler/support/unsupported.h"

namespace gcg {

/// One row per node that has to run and cannot, in the bodies too: it has no kernel, or is the first to give a value an
/// extent that no input has, because it depends on data.
/// Requires: types inferred, target passes done.
std::vector<UnsupportedNode> find_unsupported(const Graph& graph);

}  // namespace gcg
