// Sums of dequantised bytes as multiply-adds, for values that are quantised afterwards.
#pragma once

#include <optional>
#include <vector>

#include "compiler/kernel/expr.h"

namespace gcg::cpu {

/// constant + rest[0] + ... + factor * byte + .... The result is within two roundings of terms of the expression's
/// result. The expression subtracts zero points first, and rounds products and sums separately.
struct ByteSum {
  struct Term {
    Expr byte;  // i8 or u8, a different one in each lane
    double factor = 1;
  };
  double constant = 0;
  std::vector<Expr> rest;  // f32
  std::vector<Term> terms;
  double most = 0;  // no absolute value of the sum exceeds this
};

/// nullopt: no byte depends on the lane, or the expression is another one. `lane`: the axis of lanes.
std::optional<ByteSum> byte_sum_of(const Expr& e, int lane);

}  // namespace gcg::cpu
