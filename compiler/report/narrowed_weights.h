#pragma once

#include "compiler/ir/graph.h"
#include "compiler/report/remark.h"

namespace gcg {

/// The bytes of the graph's constants that narrow_weights marked, before and after narrowing.
NarrowedWeights narrowed_weights(const Graph& graph);

}  // namespace gcg
