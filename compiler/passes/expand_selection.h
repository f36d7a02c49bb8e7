// Expands NonZero, Compress and Unique into counting.
#pragma once

#include "compiler/ir/graph.h"

namespace gcg {

/// Requires: every value has a rank.
/// Ensures: no NonZero, Compress or Unique is left, subgraphs included; the graph is inferred.
/// Before: fusion.
///
/// Counting takes n*n / 2 additions, and finding k elements takes k*n comparisons. All of them are independent:
/// thousands of elements are cheap, hundreds of thousands are not.
///   Compress(x, c) {axis} -> Gather(x, gart.Positions(CumSum(Cast(c)))) {axis}
///   NonZero(x)            -> gart.Unravel(gart.Positions(CumSum(Cast(Cast(flat x)))), x)
///   Unique(x) {axis}      -> Gather(x, first) {axis}, first, inverse, ScatterElements(0, inverse, 1) {add}, where
///                              same, rank = gart.EqualSlices(x), count = CumSum(Cast(same == Range)), first =
///                              gart.Positions(count), inverse = Gather(count, same) - 1 or, sorted, rank, by which
///                              first is ordered
bool expand_selection(Graph& graph);

}  // namespace gcg
