// Pass: block_channels (target pass, CPU).
#pragma once

#include "compiler/ir/graph.h"
#include "compiler/kernel/target.h"

namespace gcg {

/// Lays activations out in blocks of 16 channels, [N, C, spatial...] -> [N, ceil(C/16), spatial..., 16], around
/// convolutions.
///
/// An f32 Conv of 1 to 3 spatial dimensions whose channels and kernel extents are known becomes gart.BlockedConv;
/// weights that are no constants are packed at run time. Its result stays blocked through pointwise operators, pools,
/// reductions over space and concatenations of channels for as long as they follow. Values are converted where a region
/// begins or ends, and nowhere else; a convolution of fewer than 16 channels at the begin of a region reads [N, C, H,
/// W] itself. A ConvInteger of u8 by constant i8 without zero points becomes a gart.BlockedConv, too. Where
/// Winograd's form of a 3x3 convolution of constant weights is faster, that is a gart.WinogradConv, unless
/// `keeps_weights`: sums are then those of weights that only a run knows.
///
/// Requires: pads, Mul and Add are folded into convolutions where they can be (canonicalise).
/// Ensures: no such Conv is left. Lanes past the last channel hold anything and reach no value outside the region.
/// Before: fold_constants, which turns the gart.PackConv nodes of constant weights into constants.
/// Example: Relu(Conv(x[1,3,8,8], w[32,3,3,3], b)) ->
///   gart.UnblockChannels(Relu(Add(gart.BlockedConv(x, gart.PackConv(w)) {plain=1, ...}, b[2,1,1,16]))) {channels=32}
bool block_channels(Graph& graph, const Target& target, bool keeps_weights = false);

}  // namespace gcg
