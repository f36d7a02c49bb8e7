// The slow, obviously right way to run a graph: node by node through the operators' reference implementations.
#pragma once

#include <vector>

#include "compiler/ir/graph.h"

namespace gcg {

/// Runs an inferred graph on one tensor per graph input, in order.
///
/// The input shapes give the symbols their values. An input that does not fit its declared type, or a broken
/// DimConstraint, is a CompileError. A node whose reference does not give the inferred type, shape or contents is an
/// InternalError: either inference or the reference is wrong.
std::vector<Tensor> interpret(const Graph& graph, const std::vector<Tensor>& inputs);

}  // namespace gcg
