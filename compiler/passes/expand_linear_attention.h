// Expands LinearAttention, which has a state of fixed size, into steps.
#pragma once

#include "compiler/ir/graph.h"

namespace gcg {

/// Requires: every value has a rank.
/// Ensures: no LinearAttention is left, subgraphs included; the graph is inferred.
/// Before: users of inline-body, fusion.
///
/// A Loop carries the state and collects the outputs. A single step (decoding) needs no Loop. Sums are at least f32.
bool expand_linear_attention(Graph& graph);

}  // namespace gcg
