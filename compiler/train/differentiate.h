// Reverse-mode differentiation: adds the nodes that compute a loss's gradients to its graph.
#pragma once

#include <vector>

#include "compiler/ir/graph.h"

namespace gcg {

/// Replaces operators that have no gradient by operators that have one: Attention, recurrent networks, Scan, and all
/// operators of expansion.h. Requires: types are inferred. Ensures: every value has a rank.
void expand_for_gradients(Graph& graph);

/// The gradients of the scalar `loss` with respect to each of the values `wrt`. The id is invalid if the loss does not
/// depend on the value, or only through operators whose results are constant almost everywhere. Adds nodes for these
/// gradients only, and visits each node once. Requires: every value has a rank (expand_for_gradients). Throws
/// CompileError if the loss depends on a value through an operator without a gradient. The message names the node, the
/// operator and the nodes on the way.
std::vector<ValueId> differentiate(Graph& graph, ValueId loss, const std::vector<ValueId>& wrt);
/// The same in a subgraph of `outermost`: the gradients of the sum of outputs[i] * by_output[i]. by_output[i] is
/// invalid for an output without a gradient.
std::vector<ValueId> differentiate(Graph& graph, Graph& outermost, const std::vector<ValueId>& outputs,
                                   const std::vector<ValueId>& by_output, const std::vector<ValueId>& wrt);

}  // namespace gcg
