// Matrix operands seen through movement: strided views instead of copies.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "compiler/ir/graph.h"
#include "compiler/lowering/value_lowering.h"

namespace gcg {

/// The value furthest upstream of `v`, through transposes, reshapes, slices and the like, of which `v` is a strided
/// view (every element at base + sum of index * stride). `v` itself if there is none. `is_seen_through`: may the source
/// lie before this node? `whole_rows`: only views whose last axis has stride 1.
ValueId strided_source(const Graph& graph, ValueId v, const std::function<bool(NodeId)>& is_seen_through,
                       bool whole_rows = false);

/// Which element of `source` is v[index], where `lowering` loads `source` and the nodes between the two only move;
/// nullopt if it is none (padding).
std::optional<std::vector<Expr>> place_in(const Graph& graph, ValueLowering& lowering, ValueId v, ValueId source,
                                          const std::vector<Expr>& index);

}  // namespace gcg
