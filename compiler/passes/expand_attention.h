// Expands Attention and RotaryEmbedding into plain operators.
#pragma once

#include "compiler/ir/graph.h"

namespace gcg {

/// Requires: every value has a rank.
/// Ensures: no Attention or RotaryEmbedding is left, subgraphs included; the graph is inferred.
/// Before: constant folding (nodes compute masks of known extents), fold-factors, fusion.
///
/// Attention becomes MatMul, Mul, Add or Where, Softmax, MatMul. Heads that share keys become rows of one product, so
/// keys and values are never repeated:
///   Q [B,H,S,D] -> [B,G,H/G*S,D];  MatMul(Q, K^T) [B,G,H/G*S,T] -> [B,H,S,T];  ... -> MatMul(P, V) -> [B,H,S,E]
/// RotaryEmbedding treats the two halves of a head (or its even and odd elements) as an axis of two, and reads it
/// forward and backward: x * cos + swapped(x) * (sin * {-1, 1}).
bool expand_attention(Graph& graph);

}  // namespace gcg
