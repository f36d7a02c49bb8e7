// What a compiled model takes for granted about extents that the model itself leaves open.
#pragma once

#include <optional>

#include "compiler/ir/graph.h"
#include "compiler/report/remark.h"

namespace gcg {

/// Nullopt: nothing. Kernels that chose at run time would lose vectors and fusion for a case that is rare.
std::optional<EqualExtents> equal_extents(const Graph& graph);

}  // namespace gcg
