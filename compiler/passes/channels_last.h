// Pass: channels_last (target pass, CUDA).
#pragma once

#include "compiler/ir/graph.h"

namespace gcg {

/// Marks activations around convolutions to be stored with their channels innermost (Value::channels_last): the
/// channels that a tap reads are neighbours then, and are copied 16 bytes at a time, as the weights are. Nothing else
/// changes: a kernel reads and writes every value by its own index, in whatever order it lies.
///
/// Marked are what a gart.PlainConv reads and writes whose groups have a multiple of 16 bytes of channels, and what
/// another one writes for it; then results of pointwise operators, pools, concatenations and other movement within
/// images that read a marked value. Not marked are
///   * inputs and outputs of graphs and bodies, and what control flow reads or gives: others rely on their order;
///   * what a view reads or gives: it shares the storage of what it views;
///   * what has one position per channel, or one channel: there is nothing to choose.
///
/// Requires: gart.PlainConv nodes are made, Value::stored is decided.
/// Example: PlainConv(PlainConv(x[1,3,8,8], w[16,3,3,3]), v[8,3,3,16]) ->
///   PlainConv(PlainConv(x, w) channels_last, v)
bool channels_last(Graph& graph);

/// A convolution whose activations may be stored so.
bool is_channels_last_conv(const Node& node);

/// Do the channels of one of its groups fill whole copies, so that it reads them best as neighbours?
bool reads_channels(const Graph& graph, const Node& conv);

}  // namespace gcg
