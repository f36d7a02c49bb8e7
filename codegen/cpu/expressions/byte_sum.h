// Sums of dequantised bytes as multiply-adds, for what is quantised after.
#pragma once

#include <optional>
#include <vector>

#include "compiler/kernel/expr.h"

namespace gcg::cpu {

/// constant + rest[0] + ... + factor * byte + ...: within two roundings of terms of what the expression gives, which
/// takes zero points off first and rounds products and sums apart.
struct ByteSum {
  struct Term {
    Expr byte;  // i8 or u8, another one in each lane
    double factor = 1;
  };
  double constant = 0;
  std::vector<Expr> rest;  // f32
  std::vector<Term> terms;
  double most = 0;  // no absolute value of the sum is above this
};

/// nullopt: no byte in it depends on the lane, or it is another expression. `lane`: the axis of lanes.
std::optional<ByteSum> byte_sum_of(const Expr& e, int lane);

}  // namespace gcg::cpu
