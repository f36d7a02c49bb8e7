// Pass: channels_last (target pass, CUDA).
#pragma once

#include "compiler/ir/graph.h"

namespace gcg {

/// Marks activations around convolutions to be stored with their channels innermost (Value::channels_last). The
/// channels that a tap reads are then contiguous and are copied 16 bytes at a time, as the weights are. Nothing else
/// changes: a kernel indexes each value logically, independent of its storage order.
///
/// The inputs and output of a gart.PlainConv are marked if the channels of each group fill a multiple of 16 bytes. The
/// output of a gart.PlainConv is also marked if it is an input of another marked gart.PlainConv. The pass also marks
/// results of pointwise operators, pools, concatenations and other movement within images that read a marked value.
/// These are not marked:
///   * inputs and outputs of graphs and subgraphs, operands and results of control flow: the code around relies on the
///   order;
///   * operands and results of views: a view shares the storage of its operand;
///   * values with one position per channel, or one channel: both orders are the same.
///
/// Requires: gart.PlainConv nodes are made, Value::stored is decided.
/// Ensures: only marks change. A marked value is f32 and has more than one channel and position.
/// Example: PlainConv(PlainConv(x[1,3,8,8], w[16,3,3,3]), v[8,3,3,16]) ->
///   PlainConv(PlainConv(x, w) channels_last, v)
bool channels_last(Graph& graph);

/// True for the convolutions whose activations this pass marks.
bool is_channels_last_conv(const Node& node);

/// True if the channels of a group fill whole 16-byte copies.
bool reads_channels(const Graph& graph, const Node& conv);

}  // namespace gcg
