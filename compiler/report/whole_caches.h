// Counts the caches that keep all tokens, although their attention reads only the last ones.
#pragma once

#include <optional>

#include "compiler/ir/graph.h"
#include "compiler/report/remark.h"

namespace gcg {

/// Requires: append_caches has run, and GroupQueryAttention is not expanded yet. Returns nullopt if there is none.
std::optional<WholeCaches> whole_caches(const Graph& graph);

}  // namespace gcg
