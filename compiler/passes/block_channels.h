// Pass: block_channels (target pass, CPU).
#pragma once

#include "compiler/ir/graph.h"
#include "compiler/kernel/target.h"

namespace gcg {

/// Stores activations around convolutions in blocks of 16 channels:
/// [N, C, spatial...] -> [N, ceil(C/16), spatial..., 16].
///
/// An f32 Conv of 1 to 3 spatial dimensions becomes gart.BlockedConv if its channels and kernel extents are known.
/// Weights that are not constant are packed at run time. A ConvInteger of u8 by constant i8 without zero points becomes
/// a gart.BlockedConv, too. A 3x3 convolution with constant weights becomes a gart.WinogradConv if that is faster,
/// unless `keeps_weights` is set: results must then have the same bits as with weights that only a run knows.
///
/// The result stays blocked as long as pointwise operators, pools, reductions over space and concatenations of channels
/// follow. Values are converted only where such a region begins or ends. A convolution of fewer than 16 channels at the
/// start of a region reads [N, C, H, W] directly.
///
/// Requires: pads, Mul and Add are folded into convolutions where possible (canonicalise).
/// Ensures: no such Conv is left. Lanes past the last channel have arbitrary contents, which no value outside the
///   region depends on.
/// Before: fold_constants, which turns the gart.PackConv nodes of constant weights into constants.
/// Example: Relu(Conv(x[1,3,8,8], w[32,3,3,3], b)) ->
///   gart.UnblockChannels(Relu(Add(gart.BlockedConv(x, gart.PackConv(w)) {plain=1, ...}, b[2,1,1,16]))) {channels=32}
bool block_channels(Graph& graph, const Target& target, bool keeps_weights = false);

}  // namespace gcg
