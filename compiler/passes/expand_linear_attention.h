// Attention with a state of fixed size, step by step.
#pragma once

#include "compiler/ir/graph.h"

namespace gcg {

/// Requires: every value has a rank.
/// Ensures: no LinearAttention is left, in bodies neither; the graph is inferred.
/// Before: inline-body's users, fusion.
///
/// A Loop carries the state and collects the outputs; one step alone (decoding) needs none. Sums are f32 at least.
bool expand_linear_attention(Graph& graph);

}  // namespace gcg
