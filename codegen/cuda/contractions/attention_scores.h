// What an attention's scores say beside the product: which keys a query sees, how the product is scaled.
#pragma once

#include <optional>

#include "compiler/kernel/kernel.h"

namespace gcg::cuda {

/// Query m sees key t if each of these that is there holds. They are i64 expressions over the batch's axes.
struct SeenKeys {
  std::vector<Expr> ends;    // t < each
  std::vector<Expr> lasts;   // t <= m + each
  std::vector<Expr> firsts;  // t >= m + each
};

struct AttentionScores {
  SeenKeys seen;
  /// The scores of keys that are seen; of the others they may be anything.
  Expr scores;
  /// The factor, if those are nothing but the product times a positive number.
  std::optional<double> scale;
};

/// Takes out of the scores what makes keys count nothing. Kernels whose queries are those of several heads, one after
/// the other, should be split before.
AttentionScores scores_of(const AttentionKernel& kernel);

/// The same kernel with an axis for heads that share keys, where its queries are those of several: the scores tell
/// positions by m % queries. Fewer than `fewest` queries stay together.
AttentionKernel split_heads(const AttentionKernel& kernel, double fewest);

}  // namespace gcg::cuda
