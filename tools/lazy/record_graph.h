// Graphs of the compiler's, recorded node by node.
#pragma once

#include <span>
#include <vector>

#include "compiler/ir/graph.h"
#include "tools/lazy/node.h"

namespace gcc_graph::lazy {

/// The graph's outputs, of these inputs. Throws Error.
std::vector<Array> record_graph(const gcg::Graph& graph, std::span<const Array> inputs, Source source = {});

/// Is the operator one that stands for others, which a model's import writes in its place?
bool expands(const Op& op);
/// Those others. `ints`: its lists, null for none.
std::vector<Array> record_expanded(const Op& op, std::span<Node* const> inputs, const Extents* ints, Source source);

}  // namespace gcc_graph::lazy
