// Reads a tensor between its elements.
#pragma once

#include "compiler/ops/index.h"

namespace gcg {

/// True if no dimension of `shape` after the first two is empty; null if this is known to hold.
inline Expr has_elements(const Shape& shape) {
  Expr some;
  for (size_t d = 2; d < shape.size(); ++d)
    if (!never_empty(shape[d])) some = both(some, binary(BinaryOp::greater, extent(shape[d]), index(0)));
  return some;
}

/// `y`, or 0 if a dimension of `shape` after the first two is empty. Loads of `y` from a tensor of this shape must be
/// guarded (sample_of); other loads need not, so they can be shared by all channels.
inline Expr unless_empty(const Shape& shape, const Expr& y) {
  const Expr some = has_elements(shape);
  return some ? select(some, y, number(y->dtype, 0)) : y;
}

/// A load from a tensor of this shape, for use in the `y` of unless_empty.
inline Expr sample_of(const Shape& shape, const Expr& load) { return has_elements(shape) ? guarded(load) : load; }

}  // namespace gcg
