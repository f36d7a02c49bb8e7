// Lists the extents that a compiled model assumes to be equal, although the model leaves them symbolic.
#pragma once

#include <optional>

#include "compiler/ir/graph.h"
#include "compiler/report/remark.h"

namespace gcg {

/// nullopt: none. The assumption is made because kernels that chose at run time would lose vectorisation and fusion for
/// a rare case.
std::optional<EqualExtents> equal_extents(const Graph& graph);

}  // namespace gcg
