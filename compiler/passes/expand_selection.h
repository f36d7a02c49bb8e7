// NonZero and Compress as counting.
#pragma once

#include "compiler/ir/graph.h"

namespace gcg {

/// Requires: every value has a rank.
/// Ensures: no NonZero and no Compress is left, in bodies neither; the graph is inferred.
/// Before: fusion.
///
/// Counting takes n*n / 2 additions and finding k elements k*n comparisons, all independent: thousands of elements are
/// cheap, hundreds of thousands are not.
///   Compress(x, c) {axis} -> Gather(x, gart.Positions(CumSum(Cast(c)))) {axis}
///   NonZero(x)            -> gart.Unravel(gart.Positions(CumSum(Cast(Cast(flat x)))), x)
bool expand_selection(Graph& graph);

}  // namespace gcg
