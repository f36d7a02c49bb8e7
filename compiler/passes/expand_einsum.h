// Einsums that are matrix products.
#pragma once

#include "compiler/ir/graph.h"

namespace gcg {

/// Requires: every value has a rank.
/// Ensures: an Einsum of two operands of floats that sums over labels of both, and over no others, is a MatMul between
///   transpositions; the graph is inferred. Others stay: they are no products, or sums of one operand.
/// Before: canonicalize, which removes what the transpositions have to spare.
/// Example: "bqhd,bkhd->bhqk": MatMul(Transpose(q), Transpose(k)) with the batch (b, h). Of several labels of one
/// operand alone
///   the last one is the product's row or column, the others are batches in which the other operand has extent 1.
bool expand_einsum(Graph& graph);

}  // namespace gcg
