// Pass: split_last_block (CPU pass).
#pragma once

#include "compiler/ir/graph.h"

namespace gcg {

/// Separates full channel blocks from a last block that is not full, in nodes that block and unblock channels. Most
/// blocks are full and then move without a test of every channel. Spatial dimensions are merged into one meanwhile.
///
/// Requires: types are inferred; channels are blocked; chain-concats has run, because it looks at the model's Concats.
/// Ensures: no node that blocks or unblocks a known number of channels has full blocks beside a last block that is not
///   full.
/// Example (24 channels): UnblockChannels(x) -> Concat(UnblockChannels(x[:, :1]), UnblockChannels(x[:, 1:]))
bool split_last_block(Graph& graph);

}  // namespace gcg
