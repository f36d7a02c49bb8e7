// Hoists a product of each iteration's own input out of the loop, for all iterations at once.
#pragma once

#include "compiler/ir/graph.h"

namespace gcg {

/// A recurrent layer that was written as a loop then has the form that expand-recurrent makes.
/// Requires: every value has a rank; canonicalize has written Gemm as MatMul and Add.
/// Ensures: if the iterations of a Loop, subgraphs included, go through all elements of a captured value, no iteration
///   multiplies its element by a matrix that all iterations share. The product, and a bias added to it, are computed
///   for all iterations before the loop. The graph is inferred.
/// Before: pack-weights, fusion.
/// Example: Loop(Shape(x)[0] ..) { MatMul(x[i], w) }  ->  p = MatMul(x, w); Loop(..) { p[i] }
bool hoist_projections(Graph& graph);

}  // namespace gcg
