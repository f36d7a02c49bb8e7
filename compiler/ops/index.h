// Index arithmetic for `lower`: maps an output element to the input element that it comes from.
#pragma once

#include <vector>

#include "compiler/kernel/expr.h"
#include "compiler/ops/op_def.h"

namespace gcg {

using Index = std::vector<Expr>;  // one i64 per dimension

/// True if the extent is at least 1 for all values of its symbols.
bool never_empty(const Dim& extent);
bool never_empty(const Shape& shape);

/// Row-major position of `at` in `shape`.
Expr linearize(const Index& at, const Shape& shape);
/// The index in `shape` of a row-major position.
Index delinearize(Expr position, const Shape& shape);
/// The index in `from` of the element at index `at` in `to`; both shapes list the same elements in row-major order.
/// Only dimensions that are split or merged need a division; equal leading and trailing ones map one to one.
Index reshape_index(const Index& at, const Shape& to, const Shape& from);
/// `i` clamped to [0, extent); 0 for an empty extent.
Expr clamp_index(const Expr& i, const Dim& extent);
/// An index counted from either end: i + extent for negative i.
Expr wrap_index(const Expr& i, const Dim& extent);
/// low <= i < high
Expr in_range(const Expr& i, const Dim& low, const Dim& high);
/// `e`, with a load executed only if the selects around it choose the operand that contains it.
Expr guarded(const Expr& e);
/// The element of integer input `i` at `at` as i64; a literal or an extent if the compiler knows it.
Expr integer_input(LowerContext& ctx, int i, const Index& at);

}  // namespace gcg
