// Pass: merge-products.
#pragma once

#include "compiler/ir/graph.h"

namespace gcg {

/// Merges products with the same left factor and constant weights into one: queries, keys and values of attention. A
/// single launch fills a GPU better than three, and reads the rows only once.
///
/// The merged products follow each other with no other contraction between them. All of them have an added vector, or
/// none has. Their results are read, through movement, only by contractions, which read their part in place. Products
/// followed by pointwise work stay separate, because that work fuses with the product.
/// Requires: canonicalize.
/// Ensures: merged weights have no other readers.
/// Before: packing, fusion, narrow-storage.
/// Example: MatMul(x, q[8,4]) + a, MatMul(x, k[8,4]) + b -> Split(MatMul(x, [q k]) + [a b], {4, 4})
bool merge_products(Graph& graph);

}  // namespace gcg
