// Gives every value a rank, where exporters left it to run time.
#pragma once

#include "compiler/ir/graph.h"

namespace gcg {

/// Requires: an inferred graph.
/// Ensures: every value has a dtype and a shape; no If has a condition that is known. Throws UnsupportedModel naming
/// the
///   nodes whose outputs' ranks depend on data.
/// Before: every other pass; they all need ranks.
///
/// An If whose branches give different ranks, with an unknown condition, takes all that depends on it into both
/// branches, where the rank is known:
///   y = If(n == 1) {Squeeze(x)} else {x};  z = f(y)    ->    z = If(n == 1) {f(Squeeze(x))} else {f(x)}
/// and questions about the rank (Size(Shape(y))) fold. A branch that such a move shows to be ill-typed becomes
/// gart.Fail: a run that takes it ends with that message.
bool resolve_ranks(Graph& graph);

}  // namespace gcg
