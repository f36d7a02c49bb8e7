// Lists the extents that a compiled model assumes to be equal, although the model leaves them symbolic.
#pragma once

#include <optional>

#include "compiler/ir/graph.h"
#include "compiler/report/remark.h"

namespace gcg {

/// `graph`: the graph for all runs (open_broadcasts.h), if there is one. It assumes equality only for extents that
/// depend on data or that meet in a subgraph. Returns nullopt if no extents are assumed to be equal.
std::optional<EqualExtents> equal_extents(const Graph& graph);

}  // namespace gcg
