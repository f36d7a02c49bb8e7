// The parameters of a TfIdfVectorizer node.
#pragma once

#include <vector>

#include "compiler/ops/op_support.h"

namespace gcg {

struct TfIdfParams {
  struct Grams {
    int64_t length;
    std::vector<int64_t> tokens;   // [count, length]
    std::vector<int64_t> columns;  // per gram: its column in the result
  };
  std::vector<Grams> grams;  // the grams to count, by length
  int64_t most_skips, columns;
  // Counts: each gram is counted, otherwise only flagged; weighs: multiplies by the gram's weight.
  bool counts, weighs;
  std::vector<double> weights;  // per column

  /// Fails, naming the node, on inconsistent attributes.
  explicit TfIdfParams(const Node& node);

  /// The largest number of tokens that a gram skips; 0 for single tokens.
  int64_t skips_of(const Grams& g) const { return g.length == 1 ? 0 : most_skips; }
};

}  // namespace gcg
