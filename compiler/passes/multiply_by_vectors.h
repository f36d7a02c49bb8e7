// Pass: multiply-by-vectors.
#pragma once

#include "compiler/ir/graph.h"

namespace gcg {

/// Products of matrices by vectors as sums along rows: each element of the matrix is read once, so there is nothing for
/// panels and register tiles to gain, and a sum reads through what a product would want in memory. A mixture of experts
/// that gathers a matrix of weights for each token then reads the experts, not 512 KB of copies a token.
///
/// Only floats, and factors that are no constants: those are packed. A vector from the left is a sum down columns,
/// which pays where the matrix is gathered. Requires: canonicalize. Before: fusion. Example: MatMul(a[b,m,k], x[b,k,1])
/// -> ReduceSum(a * Transpose(x), -1)
bool multiply_by_vectors(Graph& graph);

}  // namespace gcg
