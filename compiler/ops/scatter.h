// What the forms of ScatterElements and ScatterND have in common.
#pragma once

#include <string>

#include "compiler/ops/op_support.h"

namespace gcg {

std::string reduction_of(const Node& node);

struct Combination {
  ReduceOp reduce;
  BinaryOp binary;
};
/// How a reduction, not "none", puts two elements of this arithmetic type together.
Combination combination(const std::string& reduction, DType dtype);

/// i, or i + extent for a negative one; an index that is still outside hits nothing.
Expr from_front(const Expr& i, const Dim& size);
/// How many elements dimensions [begin, end) have together.
Dim count_of(const Shape& shape, size_t begin, size_t end);

}  // namespace gcg
