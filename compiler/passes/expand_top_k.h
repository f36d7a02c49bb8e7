// Expands TopK along a short axis into rank counting, for GPUs.
#pragma once

#include "compiler/ir/graph.h"

namespace gcg {

/// Requires: every value has a rank.
/// Ensures: no TopK along a short axis is left, subgraphs included; the graph is inferred.
/// Before: fusion.
///
/// For n elements along the axis, the ranks take n*n independent comparisons, and the places k*n more. Many short
/// lines keep a GPU busy. Longer axes are left to the operator's own launches (OpDef::launches).
///   TopK(x, k) -> places = gart.PlacesOfRanks(gart.Ranks(x), k);  values = GatherElements(x, places)
bool expand_top_k(Graph& graph);

}  // namespace gcg
