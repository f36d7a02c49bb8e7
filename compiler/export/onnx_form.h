// What a Graph says in forms of its own, said as ONNX says it.
#pragma once

#include <string>
#include <vector>

#include "compiler/ir/graph.h"

namespace gcg {

/// Rewrites, in bodies too, what upgrades of old opsets left without a spelling in new ones: normalisations over
/// flattened tails (Softmax before opset 13), scales per group (GroupNormalization-18), Resize-10, Scatter, batch
/// normalisation by the batch's own statistics, equal parts of a Split. Attributes that no new opset has go. New values
/// are not typed. Throws CompileError where ONNX has no way to say it, naming the node.
void to_onnx_form(Graph& graph);

/// The oldest opset of ai.onnx, not before `least`, that has the graph's operators, attributes and element types.
int64_t opset_of(const Graph& graph, int64_t least);

/// The attributes that hold the node's bodies, in their order.
std::vector<std::string> body_names(const Node& node);

}  // namespace gcg
