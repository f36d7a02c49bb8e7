// Facts about nodes and values for fusion: the kind of kernel that a node may anchor, and the cost of computing it
// again.
#pragma once

#include "compiler/ir/graph.h"
#include "compiler/kernel/device_traits.h"

namespace gcg {

/// Nodes that anchor kernels with templates of their own (f32 only, but products of f64 where the device has kernels
/// for them), control-flow nodes, and concatenations, whose parts are written in place.
bool anchors_matmul(const Graph& graph, const Node& node, const DeviceTraits& traits);
bool anchors_conv(const Node& node);
bool anchors_attention(const Node& node);
bool is_control(const Node& node);
bool is_concat(const Node& node);
bool is_interleave(const Node& node);
bool is_transpose(const Node& node);

/// True if the value's elements are known before the run, as expressions over the symbols.
bool is_symbolic_content(const Value& value);

/// True if computing the node's elements again costs almost nothing.
bool is_cheap(const Node& node);
/// Cost of one element, in additions.
double cost(const Node& node);
/// Upper limit for the work that a kernel computes on the fly per element. Reading and writing an element costs about
/// ten additions, so larger kernels gain nothing. Code generators also recurse over the kernel's expression.
constexpr double kMostCost = 512;
/// How often a reduction reads each element of its input.
int passes(const Node& node);

}  // namespace gcg
