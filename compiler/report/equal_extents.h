// Lists the extents that a compiled model assumes to be equal, although the model leaves them symbolic.
#pragma once

#include <optional>

#include "compiler/ir/graph.h"
#include "compiler/report/remark.h"

namespace gcg {

/// nullopt: none. `graph`: the one for all runs (open_broadcasts.h), if there is one. The assumption that is left is
/// made where extents depend on data, or meet in a subgraph.
std::optional<EqualExtents> equal_extents(const Graph& graph);

}  // namespace gcg
