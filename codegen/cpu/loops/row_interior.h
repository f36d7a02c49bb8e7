// The interior of a row, where nothing clamps, and its ends.
//
// Windows and padding read max(min(i + k - pad, last), 0) and test whether i + k - pad lies inside. Over most of a row,
// such a maximum always equals the same side, and such a condition is always true. The rest is affine, so vectors read
// contiguous memory. In a vector at one of the ends, conditions are known lane by lane at compile time.
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
  /// Only a run knows the lanes of `ahead`, or of `beyond`.
  bool front_unknown = false, back_unknown = false;
  std::vector<Expr> ahead;  // their values below min(after)
  std::vector<Expr>
      beyond;  // their values from max(first) on; here, `axis` counts from the start of the interior's last vector
};

/// Resolves maxima, minima, remainders and comparisons of indices that depend on `axis`. The result holds in the middle
/// of `axis`, for all values of the inner reduction axes. Nullopt if there is nothing to resolve, or if the middle does
/// not cover most of the axis. `lanes`: lanes of the vector that `beyond` is for.
std::optional<RowInterior> row_interior(const std::vector<Expr>& values, const Axis& axis, int lanes);

/// True if certainly very few elements are before max(first), or from min(after) on.
bool has_short_front(const RowInterior& interior);
bool has_short_back(const RowInterior& interior);
/// The largest number of elements outside an interior, if it is known.
std::optional<int64_t> width_of_ends(const RowInterior& interior);

/// True if an interior is wider than a register, as far as is known at compile time.
bool is_wide(const RowInterior& interior, int lanes);
/// True if the elements outside an interior certainly fit in one register at each end.
bool has_narrow_ends(const RowInterior& interior, int lanes);

}  // namespace gcg::cpu
