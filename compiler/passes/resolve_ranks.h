// Gives every value a rank, also if the exporter left it to run time.
#pragma once

#include "compiler/ir/graph.h"

namespace gcg {

/// Requires: an inferred graph.
/// Ensures: every value has a dtype and a shape; no If has a known condition. Throws UnsupportedModel naming the nodes
///   whose outputs have data-dependent ranks.
/// Before: all other passes, because they need ranks.
///
/// The branches of an If with an unknown condition may give different ranks. All nodes that depend on the If then move
/// into both branches, where the rank is known:
///   y = If(n == 1) {Squeeze(x)} else {x};  z = f(y)    ->    z = If(n == 1) {f(Squeeze(x))} else {f(x)}
/// Computations of the rank (Size(Shape(y))) then fold. If such a move shows a branch to be ill-typed, the branch
/// becomes gart.Fail: a run that takes it ends with that message.
bool resolve_ranks(Graph& graph);

}  // namespace gcg
