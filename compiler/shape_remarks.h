// What a compiled model takes for granted about extents that the model itself leaves open.
#pragma once

#include <string>
#include <vector>

#include "compiler/ir/graph.h"

namespace gcg {

/// One sentence per pair of extents that broadcasting would let differ where one is 1 at run time, and that are taken
/// to be equal: such a run is refused. Kernels that chose at run time would lose vectors and fusion for a case that is
/// rare.
std::vector<std::string> shape_remarks(const Graph& graph);

}  // namespace gcg
