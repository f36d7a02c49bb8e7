// Attention and RotaryEmbedding as plain operators.
#pragma once

#include "compiler/ir/graph.h"

namespace gcg {

/// Requires: every value has a rank.
/// Ensures: no Attention or RotaryEmbedding is left, in bodies neither; the graph is inferred.
/// Before: constant folding (masks of known extents are computed by nodes), fold-factors, fusion.
///
/// Attention becomes MatMul, Mul, Add or Where, Softmax, MatMul. Heads that share keys are rows of one product, so that
/// keys and values are never repeated:
///   Q [B,H,S,D] -> [B,G,H/G*S,D];  MatMul(Q, K^T) [B,G,H/G*S,T] -> [B,H,S,T];  ... -> MatMul(P, V) -> [B,H,S,E]
/// RotaryEmbedding takes both halves of a head (or its even and odd elements) as an axis of two, which it reads
/// forwards and backwards: x * cos + swapped(x) * (sin * {-1, 1}).
bool expand_attention(Graph& graph);

}  // namespace gcg
