// The slow and simple way to run a graph: node by node, through the operators' reference implementations.
#pragma once

#include <vector>

#include "compiler/ir/graph.h"

namespace gcg {

/// Runs an inferred graph on one tensor per graph input, in order.
///
/// The input shapes give the symbols their values. An input that does not fit its declared type, or a violated
/// DimConstraint, is a CompileError. A reference result whose type, shape or contents differ from inference is an
/// InternalError: inference or the reference is wrong.
std::vector<Tensor> interpret(const Graph& graph, const std::vector<Tensor>& inputs);

}  // namespace gcg
