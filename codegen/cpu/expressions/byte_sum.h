// Computes sums of dequantised bytes as multiply-adds, if the values are quantised afterwards.
#pragma once

#include <optional>
#include <vector>

#include "compiler/kernel/expr.h"

namespace gcg::cpu {

/// The value constant + float_terms[0] + ... + factor * byte + .... It differs from the expression's value by at most
/// two roundings of its terms. The expression itself subtracts zero points first, and rounds products and sums
/// separately.
struct ByteSum {
  struct Term {
    Expr byte;  // i8 or u8; each lane has its own byte
    double factor = 1;
  };
  double constant = 0;
  std::vector<Expr> float_terms;  // f32
  std::vector<Term> terms;
  double most = 0;  // the sum's absolute value is at most this
};

/// Nullopt if the expression has another form, or no byte depends on the lane. `lane`: the axis of lanes.
std::optional<ByteSum> byte_sum_of(const Expr& e, int lane);

}  // namespace gcg::cpu
