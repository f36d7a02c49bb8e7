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
    Expr byte;  // i8 or u8
    double factor = 1;
  };
  double constant = 0;
  std::vector<Expr> rest;  // f32
  std::vector<Term> terms;
};

/// nullopt: no byte in it is worth it, or it is another expression.
std::optional<ByteSum> byte_sum_of(const Expr& e);
/// No absolute value of the sum is above this; infinity where there is a rest.
double most_of(const ByteSum& sum);

}  // namespace gcg::cpu
