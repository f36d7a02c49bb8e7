// Pass: multiply-by-vectors.
#pragma once

#include "compiler/ir/graph.h"

namespace gcg {

/// Turns matrix-vector products into sums along rows. Each matrix element is read only once, so panels and register
/// tiles gain nothing. A sum also fuses with operations whose result a product would need in memory. A mixture of
/// experts that gathers a weight matrix per token then reads the experts, instead of 512 KB of copies per token.
///
/// The pass only takes floats and factors that are not constant, because constants are packed. A vector on the left
/// gives a sum down columns, which is faster only if the matrix is gathered.
/// Requires: canonicalize.
/// Ensures: a product that changed is a sum along rows or down columns. Products with a constant factor stay.
/// Before: fusion.
/// Example: MatMul(a[b,m,k], x[b,k,1]) -> ReduceSum(a * Transpose(x), -1)
bool multiply_by_vectors(Graph& graph);

}  // namespace gcg
