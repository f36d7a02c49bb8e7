// LSTM, GRU and RNN as plain operators.
#pragma once

#include "compiler/ir/graph.h"

namespace gcg {

/// Requires: every value has a rank.
/// Ensures: no LSTM, GRU or RNN is left, in bodies neither; the graph is inferred.
/// Before: constant folding (weights are sliced and transposed by nodes), fusion.
///
/// One direction becomes the projection of all inputs at once and a Loop over the steps:
///   XW = MatMul(X, W^T) + bias
///   Y, h = Loop(steps) { gates = XW[t] + MatMul(h, R^T);  h = ...;  scan h }
/// A sequence of one step becomes the step itself, without a loop. Sequence lengths keep the state (and give zeros as
/// output) in the steps after them.
bool expand_recurrent(Graph& graph);

}  // namespace gcg
