// TopK as counting of ranks, for GPUs.
#pragma once

#include "compiler/ir/graph.h"

namespace gcg {

/// Requires: every value has a rank.
/// Ensures: no TopK is left, in bodies neither, but those that the CPU runs; the graph is inferred.
/// Before: fusion.
///
/// For n elements along the axis it takes n*n comparisons, all independent, and k*n to find the places: a few thousand
/// elements are cheap, hundreds of thousands are not.
///   TopK(x, k) -> places = gart.PlacesOfRanks(gart.Ranks(x), k);  values = GatherElements(x, places)
bool expand_top_k(Graph& graph);

}  // namespace gcg
