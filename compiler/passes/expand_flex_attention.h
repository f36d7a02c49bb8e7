// Expands FlexAttention: attention with custom changes of scores and probabilities.
#pragma once

#include "compiler/ir/graph.h"

namespace gcg {

/// Requires: every value has a rank.
/// Ensures: no FlexAttention is left, subgraphs included; the graph is inferred.
/// Before: fusion, which makes a single kernel if the scores have no custom change.
/// Example: FlexAttention(q, k, v) = MatMul(prob_mod(Softmax(score_mod(scale * MatMul(q, Transpose(k))))), v). Query
///   heads that share a key head are rows of one product.
bool expand_flex_attention(Graph& graph);

}  // namespace gcg
