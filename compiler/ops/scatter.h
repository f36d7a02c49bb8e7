// Helpers for all implementations of ScatterElements and ScatterND.
#pragma once

#include <string>

#include "compiler/ops/op_support.h"

namespace gcg {

std::string reduction_of(const Node& node);

struct Combination {
  ReduceOp reduce;
  BinaryOp binary;
};
/// How a reduction other than "none" combines two elements of this arithmetic type.
Combination combination(const std::string& reduction, DType dtype);

/// i, or i + extent if i is negative. An index that is still out of range hits nothing.
Expr from_front(const Expr& i, const Dim& size);
/// The number of elements in dimensions [begin, end).
Dim count_of(const Shape& shape, size_t begin, size_t end);

}  // namespace gcg
