// Pass: merge-products.
#pragma once

#include "compiler/ir/graph.h"

namespace gcg {

/// One product instead of several with the same left factor and constant weights: queries, keys and values of
/// attention. One launch fills a GPU better than three, and its rows are read once.
///
/// Merged are products that follow each other with no other contraction in between, all of them with a vector added or
/// none, whose results only go, through movement, into contractions: those read their part where it lies. What is
/// followed by pointwise work stays, for that is computed where the product is. Requires: canonicalize. Ensures:
/// weights that were merged have no other readers. Before: packing, fusion, narrow-storage. Example: MatMul(x, q[8,4])
/// + a, MatMul(x, k[8,4]) + b -> Split(MatMul(x, [q k]) + [a b], {4, 4})
bool merge_products(Graph& graph);

}  // namespace gcg
