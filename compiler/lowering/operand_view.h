// Finds strided views of matrix operands through movement nodes, to avoid copies.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "compiler/ir/graph.h"
#include "compiler/lowering/value_lowering.h"

namespace gcg {

/// The furthest value upstream of `v` of which `v` is a strided view (every element at base + sum of index * stride).
/// The walk passes transposes, reshapes, slices and the like. Returns `v` itself if there is none. `is_seen_through`:
/// true if the walk may pass this node. `whole_rows`: accept only views whose last axis has stride 1.
ValueId strided_source(const Graph& graph, ValueId v, const std::function<bool(NodeId)>& is_seen_through,
                       bool whole_rows = false);

/// The index in `source` of the element v[index]; nullopt if it is padding. Requires: `lowering` loads `source`, and
/// the nodes between the two only move elements.
std::optional<std::vector<Expr>> place_in(const Graph& graph, ValueLowering& lowering, ValueId v, ValueId source,
                                          const std::vector<Expr>& index);

}  // namespace gcg
