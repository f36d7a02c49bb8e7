// The symbols that kernels and nodes need, and the symbols that are bound only while the plan runs.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "compiler/ir/graph.h"
#include "compiler/kernel/kernel.h"

namespace gcg {

/// The symbols that gart.Bind nodes of the graph and its subgraphs assign.
std::vector<std::string> run_bound_symbols(const Graph& graph);

/// Symbols that occur in the kernel's extents.
std::set<std::string> symbols_of(const Kernel& kernel);
/// Symbols in the types of a node's results and in its subgraphs.
std::set<std::string> symbols_of(const Graph& graph, const Node& node);

}  // namespace gcg
