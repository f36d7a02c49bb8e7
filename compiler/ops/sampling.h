// Reads a tensor between its elements.
#pragma once

#include "compiler/ops/index.h"

namespace gcg {

/// `y`, or 0 if a dimension of `shape` after the first two is empty; then none of its loads is executed.
inline Expr unless_empty(const Shape& shape, const Expr& y) {
  Expr some;
  for (size_t d = 2; d < shape.size(); ++d)
    if (!never_empty(shape[d])) some = both(some, binary(BinaryOp::greater, extent(shape[d]), index(0)));
  return some ? select(some, guarded(y), constant_float(y->dtype, 0)) : y;
}

}  // namespace gcg
