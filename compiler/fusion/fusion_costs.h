// What fusion wants to know about a node or value: what kind of kernel it may anchor, what computing it again would
// cost.
#pragma once

#include "compiler/ir/graph.h"

namespace gcg {

/// Anchors of kernels with templates of their own (f32 only), control flow, and concatenation, whose parts are written
/// in place.
bool anchors_matmul(const Graph& graph, const Node& node);
bool anchors_conv(const Node& node);
bool anchors_attention(const Node& node);
bool is_control(const Node& node);
bool is_concat(const Node& node);
bool is_interleave(const Node& node);
bool is_transpose(const Node& node);

/// Is the value's content known without running anything, as expressions over the symbols?
bool is_symbolic_content(const Value& value);

/// Elements that cost next to nothing to compute again.
bool is_cheap(const Node& node);
/// Of one element, in additions.
double cost(const Node& node);
/// What a kernel may compute on the fly per element. Reading and writing an element costs as much as some ten
/// additions: a kernel of this size gains nothing by growing, and code generators recurse over its expression.
constexpr double kMostCost = 512;
/// How often a reduction looks at an element of its input.
int passes(const Node& node);

}  // namespace gcg
