#pragma once

#include "compiler/ir/graph.h"
#include "compiler/report/remark.h"

namespace gcg {

/// How many bytes of the graph's constants narrow_weights marked to be stored in how many.
NarrowedWeights narrowed_weights(const Graph& graph);

}  // namespace gcg
