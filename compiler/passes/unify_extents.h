// Gives equal extents one name.
#pragma once

#include "compiler/ir/graph.h"

namespace gcg {

/// Pass: unify-extents. If a fact states that two extents of the inputs are equal, the first one replaces the other.
/// Addresses of operands then have common strides, so axes merge and rows become longer.
/// Requires: a run checks the facts before its first step, against the shapes that the model's users see. So the passes
///   and the plan of a device may use one name, but the model's interface keeps both.
/// Ensures: values, facts and subgraphs name only one of several equal extents of the inputs.
/// Before: passes that choose layouts and kernels.
/// Example: Concat(a[n,c], b[m,d]; axis=1) with the fact n = m -> Concat(a[n,c], b[n,d])
bool unify_extents(Graph& graph);

}  // namespace gcg
