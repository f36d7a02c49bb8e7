// Attention with changes of its own to scores and probabilities.
#pragma once

#include "compiler/ir/graph.h"

namespace gcg {

/// Requires: every value has a rank.
/// Ensures: no FlexAttention is left, in bodies neither; the graph is inferred.
/// Before: fusion, which makes one kernel of scores that nothing changes in a way of its own.
/// Example: FlexAttention(q, k, v) = MatMul(prob_mod(Softmax(score_mod(scale * MatMul(q, Transpose(k))))), v), query
/// heads that
///   share a head of keys side by side as rows of one product
bool expand_flex_attention(Graph& graph);

}  // namespace gcg
