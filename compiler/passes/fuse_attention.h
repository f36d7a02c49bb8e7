// Pass: fuse_attention (target pass).
#pragma once

#include "compiler/ir/graph.h"
#include "compiler/kernel/target.h"

namespace gcg {

/// Makes a gart.Attention (ops/fused_attention.h) of every attention that a single kernel computes at least as fast as
/// its parts. The node reads Q, K and V; its subgraph computes the changes of the scores, which are never stored.
///
/// Requires: attention is written as plain operators (expand_attention); factors are folded; the types and layouts
///   in which values are stored are decided (narrow_storage, channels_last).
/// Ensures: no value of the scores is stored where a single kernel is as fast as its parts.
/// Example: MatMul(Softmax(Add(MatMul(q, k), m)), v) -> gart.Attention(q, k, v, _ | m) {(s, m) -> Add(s, m)}
bool fuse_attention(Graph& graph, const Target& target);

}  // namespace gcg
