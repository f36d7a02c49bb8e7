// Logits of the last token alone, for runs that read a prompt.
#pragma once

#include "compiler/ir/graph.h"

namespace gcg {

/// Replaces the output "logits" [.., tokens, vocabulary] by its last row [.., 1, vocabulary]. The row is chosen before
/// the products and pointwise operators that compute the logits, so they compute one row. Composed operators between
/// them are expanded. Returns false if no product can run after the row is chosen, or if the output has only one row.
/// Requires: infer_graph.
/// Example: y = MatMul(x, w); logits = Tanh(y) -> row = Gather(x, [-1], axis 1); logits = Tanh(MatMul(row, w))
bool keep_last_logits(Graph& graph);

}  // namespace gcg
