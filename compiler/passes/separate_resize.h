// Splits a Resize into one per dimension.
#pragma once

#include "compiler/ir/graph.h"

namespace gcg {

/// Requires: every value has a rank.
/// Ensures: no Resize with antialias, subgraphs included, changes more than one dimension, unless a policy keeps its
///   aspect ratio; the graph is inferred.
/// Before: fusion.
/// Example: Resize(x, sizes [N, C, H, W]) = Resize(Resize(x, sizes [H], axes [2]), sizes [W], axes [3]): a stretched
///   window of h * w elements becomes one of h and one of w
bool separate_resize(Graph& graph);

}  // namespace gcg
