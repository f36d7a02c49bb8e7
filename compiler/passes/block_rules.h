// The rules of block_channels for single nodes.
#pragma once

#include "compiler/ir/graph.h"
#include "compiler/passes/blocked_layout.h"

namespace gcg {

/// Gives the node's result a blocked form if the node is a convolution or continues a region; returns whether it did.
/// The producers of its inputs must have been visited.
bool block_node(BlockedLayout& layout, NodeId node);

/// The rule for GroupNormalization and InstanceNormalization (block_norms.cpp).
bool block_norm(BlockedLayout& layout, NodeId node);

}  // namespace gcg
