// Expands TfIdfVectorizer, which counts token sequences, into comparisons and sums.
#pragma once

#include "compiler/ir/graph.h"

namespace gcg {

/// Requires: every value has a rank.
/// Ensures: no TfIdfVectorizer is left, subgraphs included; the graph is inferred.
/// Before: constant folding, fusion.
///
/// For each gram length and each number of skipped tokens, windows [.., places, 1, length] are compared with the grams
/// [grams, length]. Sums over the places are the counts. A product with a constant matrix moves the counts to their
/// columns.
bool expand_tf_idf(Graph& graph);

}  // namespace gcg
