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

/// For CPUs, where a row is interpolated by loads of whole registers and a column by gathers. The split removes half of
/// the gathers.
/// Requires: channels are blocked.
/// Ensures: no linear or cubic Resize of floats changes the last dimension and another one. Exceptions have taps in a
///   row that repeat after a few outputs, or rows that shrink to less than a sixth. The graph is inferred.
/// Before: fusion.
/// Example: Resize(x[n, 3, h, w], sizes [224, 224], axes [2, 3]) =
///   Resize(Resize(x, sizes [224], axes [2]), sizes [224], axes [3])
bool separate_interpolation(Graph& graph);

}  // namespace gcg
