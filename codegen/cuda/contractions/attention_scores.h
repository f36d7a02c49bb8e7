// Analyses the scores of an attention kernel: the keys that a query sees, and the scale of the product.
#pragma once

#include <optional>

#include "compiler/kernel/kernel.h"

namespace gcg::cuda {

/// Query m sees key t if all present conditions hold. They are i64 expressions over the batch's axes.
struct SeenKeys {
  std::vector<Expr> ends;    // t < each
  std::vector<Expr> lasts;   // t <= m + each
  std::vector<Expr> firsts;  // t >= m + each
};

struct AttentionScores {
  SeenKeys seen;
  /// The scores of the keys that are seen; arbitrary for the other keys.
  Expr scores;
  /// The scale, if the scores are the product times a positive number and nothing else.
  std::optional<double> scale;
};

/// Separates the mask from the scores. If the rows are queries of several heads, one head after the other, call
/// split_heads() first.
AttentionScores scores_of(const AttentionKernel& kernel);

/// If the rows are queries of several heads, returns the kernel with a separate axis for the heads that share keys. Its
/// scores use m % queries as the position. Does not split if a head would have fewer than `fewest` queries.
AttentionKernel split_heads(const AttentionKernel& kernel, double fewest);

}  // namespace gcg::cuda
