// Pass: split_last_block (CPU pass).
#pragma once

#include "compiler/ir/graph.h"

namespace gcg {

/// Moves full blocks of channels and a last one that is not full apart, where channels are blocked and where they are
/// unblocked: the full ones, which are nearly all, move without a test of every channel. Spatial dimensions are one
/// meanwhile.
///
/// Requires: types inferred; channels blocked; after chain-concats, which looks at what the model joins.
/// Example (24 channels): UnblockChannels(x) -> Concat(UnblockChannels(x[:, :1]), UnblockChannels(x[:, 1:]))
bool split_last_block(Graph& graph);

}  // namespace gcg
