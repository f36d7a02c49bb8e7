// Expands LSTM, GRU and RNN into plain operators.
#pragma once

#include "compiler/ir/graph.h"

namespace gcg {

/// Requires: every value has a rank.
/// Ensures: no LSTM, GRU or RNN is left, subgraphs included; the graph is inferred.
/// Before: constant folding (nodes slice and transpose the weights), fusion.
///
/// One direction becomes the projection of all inputs at once, and a Loop over the steps:
///   XW = MatMul(X, W^T) + bias
///   Y, h = Loop(steps) { gates = XW[t] + MatMul(h, R^T);  h = ...;  scan h }
/// A sequence of one step becomes the step itself, without a loop. In steps after a sequence's length, the state stays
/// and the output is zero.
bool expand_recurrent(Graph& graph);

}  // namespace gcg
