// Turns Einsums into matrix products where possible.
#pragma once

#include "compiler/ir/graph.h"

namespace gcg {

/// Requires: every value has a rank.
/// Ensures: an Einsum of two float operands that sums only over labels of both is a MatMul between transpositions. An
///   Einsum of more operands is split into Einsums of two. Other Einsums stay: they are not products, or sum over
///   labels of one operand. The graph is inferred.
/// Before: canonicalize, which removes redundant transpositions.
/// Example: "bqhd,bkhd->bhqk": MatMul(Transpose(q), Transpose(k)) with the batch (b, h). If several labels occur in
///   only one operand, the last one is the product's row or column. The others are batch dimensions where the other
///   operand has extent 1.
bool expand_einsum(Graph& graph);

}  // namespace gcg
