// Counts of token sequences as comparisons and sums.
#pragma once

#include "compiler/ir/graph.h"

namespace gcg {

/// Requires: every value has a rank.
/// Ensures: no TfIdfVectorizer is left, in bodies neither; the graph is inferred.
/// Before: constant folding, fusion.
///
/// Per length of the grams and number of tokens skipped, windows [.., places, 1, length] are compared with the grams
/// [grams, length]; sums over places are the counts, which a product with a constant matrix brings to their columns.
bool expand_tf_idf(Graph& graph);

}  // namespace gcg
