// The middle of a row, where nothing clamps, and its ends.
//
// Windows and padding read max(min(i + k - pad, last), 0) and ask whether i + k - pad lies inside. Over most of a row
// such a maximum is always the same side, such a condition always true, and what is left is affine: vectors read
// contiguous memory. In a vector at one of its ends conditions are known lane by lane when the code is made.
#pragma once

#include <optional>
#include <vector>

#include "compiler/kernel/kernel.h"

namespace gcg::cpu {

/// Where `axis` lies in [max(first), min(after)), expressions have the values `values`.
struct RowInterior {
  Axis axis;
  std::vector<Dim> first, after;
  std::vector<Expr> values;
  std::vector<Expr> ahead;  // their values below min(after)
  std::vector<Expr>
      beyond;  // their values from max(first) on; here `axis` counts from where the last vector of it begins
};

/// Resolves maxima, minima, remainders and comparisons of indices that depend on `axis` to what they are in the middle
/// of it, for all values of the reduction axes inside; nullopt when there are none, or the middle is not most of the
/// axis. `lanes`: of the vector that `beyond` is for.
std::optional<RowInterior> row_interior(const std::vector<Expr>& values, const Axis& axis, int lanes);

}  // namespace gcg::cpu
