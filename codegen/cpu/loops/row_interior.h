// The interior of a row, where nothing clamps, and its ends.
//
// Windows and padding read max(min(i + k - pad, last), 0) and test whether i + k - pad lies inside. Over most of a row
// such a maximum is always the same side and such a condition always true. The rest is affine, so vectors read
// contiguous memory. For a vector at one of the ends, conditions are known lane by lane at compile time.
#pragma once

#include <optional>
#include <vector>

#include "compiler/kernel/kernel.h"

namespace gcg::cpu {

/// For `axis` in [max(first), min(after)), expressions have the values `values`.
struct RowInterior {
  Axis axis;
  std::vector<Dim> first, after;
  std::vector<Expr> values;
  bool ends_one_by_one = false;  // the few elements from min(after) on: their lanes of `beyond` would not be known
  std::vector<Expr> ahead;       // their values below min(after)
  std::vector<Expr>
      beyond;  // their values from max(first) on; here `axis` counts from the beginning of the interior's last vector
};

/// Resolves maxima, minima, remainders and comparisons of indices that depend on `axis`. The result holds in the middle
/// of `axis`, for all values of the inner reduction axes. nullopt if there are none, or the middle is not most of the
/// axis. `lanes`: lanes of the vector that `beyond` is for.
std::optional<RowInterior> row_interior(const std::vector<Expr>& values, const Axis& axis, int lanes);

}  // namespace gcg::cpu
