// What a TfIdfVectorizer node says.
#pragma once

#include <vector>

#include "compiler/ops/op_support.h"

namespace gcg {

struct TfIdfForm {
  struct Grams {
    int64_t length;
    std::vector<int64_t> tokens;   // [count, length]
    std::vector<int64_t> columns;  // of the result, per gram
  };
  std::vector<Grams> grams;  // those that are counted, by length
  int64_t most_skips, columns;
  bool counts, weighs;          // otherwise it only says which grams there are; and its own weights multiply
  std::vector<double> weights;  // per column

  /// Fails, naming the node, on attributes that do not go together.
  explicit TfIdfForm(const Node& node);

  /// How many tokens a gram skips at most: single tokens cannot be apart.
  int64_t skips_of(const Grams& g) const { return g.length == 1 ? 0 : most_skips; }
};

}  // namespace gcg
