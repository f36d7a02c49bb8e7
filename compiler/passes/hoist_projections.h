// What every turn of a loop multiplies of its own input, for all turns at once.
#pragma once

#include "compiler/ir/graph.h"

namespace gcg {

/// Requires: every value has a rank.
/// Ensures: no Loop whose turns go through all of a captured value, in bodies neither, multiplies the turn's element of
/// it by a
///   matrix that all turns share: the product, and the bias added to it, are computed for all turns before the
///   loop. So a recurrent layer that was written as a loop is what expand-recurrent makes of one. The graph is
///   inferred.
/// Before: pack-weights, fusion. After canonicalize, which writes Gemm as MatMul and Add.
/// Example: Loop(Shape(x)[0] ..) { MatMul(x[i], w) }  ->  p = MatMul(x, w); Loop(..) { p[i] }
bool hoist_projections(Graph& graph);

}  // namespace gcg
