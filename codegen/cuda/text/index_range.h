// Bounds of index arithmetic: values that fit 32 bits are computed in 32 bits.
#pragma once

#include <map>
#include <optional>
#include <unordered_map>

#include "compiler/kernel/kernel.h"

namespace gcg::cuda {

/// The values from `low` to `high`; nullopt: that end is not known.
struct Interval {
  std::optional<int64_t> low, high;

  bool is_known() const { return low && high; }
  bool fits_int() const { return is_known() && *low >= INT32_MIN && *high <= INT32_MAX; }
  bool is_natural() const { return low && *low >= 0; }
};

Interval interval_of(const Dim& dim);
/// The range of a loop variable: from 0 to the extent's largest value minus one.
Interval interval_of_axis(const Dim& extent);

class IndexRanges {
 public:
  /// Collects the axes of all loops and reductions of the kernel.
  explicit IndexRanges(const Kernel& kernel);
  void add(const Axis& axis) { axes_[axis.id] = interval_of_axis(axis.extent); }
  void add(const std::vector<Axis>& axes) {
    for (const Axis& a : axes) add(a);
  }
  /// The mathematical range of an i64 expression; unknown if it could overflow i64.
  Interval of(const Expr& e);
  Interval of_axis(int id) const;

 private:
  void add_reductions(const Expr& e);
  Interval compute(const ExprNode& e);
  Interval of_binary(const ExprNode& e);

  std::map<int, Interval> axes_;
  std::unordered_map<Expr, Interval> known_;
};

}  // namespace gcg::cuda
