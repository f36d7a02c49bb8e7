// Pass: mark_attention (target pass, CUDA).
#pragma once

#include "compiler/ir/graph.h"
#include "compiler/kernel/target.h"

namespace gcg {

/// Makes the last MatMul of every attention that one kernel can compute (ops/attention_pattern.h) a
/// gart.AttentionMatMul: fusion then takes the whole pattern into its kernel, and scores are never stored.
///
/// Requires: attention is written as plain operators (expand_attention), factors are folded.
/// Example: MatMul(Softmax(Mul(MatMul(q, k), c)), v) -> gart.AttentionMatMul(Softmax(Mul(MatMul(q, k), c)), v)
bool mark_attention(Graph& graph, const Target& target);

}  // namespace gcg
