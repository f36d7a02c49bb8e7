// Rewrites the compiler's own forms of a Graph into standard ONNX.
#pragma once

#include <string>
#include <vector>

#include "compiler/ir/graph.h"

namespace gcg {

/// Rewrites forms that upgrades of old opsets produce and that newer opsets cannot express, also in subgraphs:
/// normalisations over flattened tails (Softmax before opset 13), scales per group (GroupNormalization-18), Resize-10,
/// Scatter, batch normalisation by the batch's own statistics, equal parts of a Split. Removes attributes that no newer
/// opset has. New values are not typed. Throws CompileError, naming the node, if ONNX cannot express it.
void to_standard_onnx(Graph& graph);

/// The oldest opset of ai.onnx, at least `least`, that has the graph's operators, attributes and element types.
int64_t opset_of(const Graph& graph, int64_t least);

/// The names of the attributes that hold the node's subgraphs, in order.
std::vector<std::string> body_names(const Node& node);

}  // namespace gcg
