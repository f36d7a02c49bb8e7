// Gives equal extents one name.
#pragma once

#include "compiler/ir/graph.h"

namespace gcg {

/// Replaces extents of the inputs that the graph's facts state to be equal by the first of them. Addresses of operands
/// then have common strides, so axes merge and rows become longer.
/// Requires: a run checks the facts before its first step, against the shapes that the model's users see.
/// Ensures: values and subgraphs name only one of several equal extents of the inputs. The facts stay.
/// Example: Concat(a[n,c], b[m,d]; axis=1) with the fact n = m -> Concat(a[n,c], b[n,d])
void unify_extents(Graph& graph);

}  // namespace gcg
