// TopK of short lines as counting of ranks, for GPUs.
#pragma once

#include "compiler/ir/graph.h"

namespace gcg {

/// Requires: every value has a rank.
/// Ensures: no TopK along a short axis is left, in bodies neither; the graph is inferred.
/// Before: fusion.
///
/// For n elements along the axis it takes n*n comparisons, all independent, and k*n to find the places. So many short
/// lines keep a GPU busy; longer ones are OpDef::launches'.
///   TopK(x, k) -> places = gart.PlacesOfRanks(gart.Ranks(x), k);  values = GatherElements(x, places)
bool expand_top_k(Graph& graph);

}  // namespace gcg
