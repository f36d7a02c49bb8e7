// Records a graph of the compiler node by node.
#pragma once

#include <span>
#include <vector>

#include "compiler/ir/graph.h"
#include "tools/lazy/node.h"

namespace gcc_graph::lazy {

/// Returns the graph's outputs for these inputs. Throws Error.
std::vector<Array> record_graph(const gcg::Graph& graph, std::span<const Array> inputs, Source source = {});

/// True if the importer replaces the operator by others.
bool expands(const Op& op);
/// Records the operators that replace `op`. `ints`: the lists of `op`; null: none.
std::vector<Array> record_expanded(const Op& op, std::span<Node* const> inputs, const Extents* ints, Source source);

}  // namespace gcc_graph::lazy
