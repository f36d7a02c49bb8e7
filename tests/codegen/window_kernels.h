// Kernels of windows and of clamped rows, for tests.
#pragma once

#include <memory>

#include "tests/codegen/loop_kernels.h"

namespace gcg::test {

inline Expr at_least(const Expr& a, const Expr& b) { return binary(BinaryOp::max, a, b); }
inline Expr at_most(const Expr& a, const Expr& b) { return binary(BinaryOp::min, a, b); }
inline Expr clamped(const Expr& i, const Dim& length) {
  return at_least(at_most(i, extent(length) - index(1)), index(0));
}
inline Expr inside(const Expr& i, const Dim& length) {
  return binary(BinaryOp::logical_and, binary(BinaryOp::greater_equal, i, index(0)),
                binary(BinaryOp::less, i, extent(length)));
}

inline Expr guarded(const Expr& load) {
  auto copy = std::make_shared<ExprNode>(*load);
  copy->guarded = true;
  return copy;
}

/// A window of `size` x `size` taps with `stride` over x[rows, width]: Positions in the `pad` elements on every side
/// are clamped for a maximum and left out of a sum.
inline Kernel window_kernel(ReduceOp op, int64_t rows, const Dim& width, int64_t size, int64_t stride, int64_t pad) {
  const Shape out = {(rows + 2 * pad - size) / stride + 1, floor_div(width + (2 * pad - size), stride) + 1};
  return map_kernel("window", {{DType::f32, {rows, width}}, {DType::f32, out}}, [&](const std::vector<Expr>& i) {
    const Axis r{10, size}, c{11, size};
    const Expr row = i[0] * index(stride) - index(pad) + axis_ref(r),
               column = i[1] * index(stride) - index(pad) + axis_ref(c);
    if (op == ReduceOp::max)
      return reduce(op, {r, c}, load(0, DType::f32, {clamped(row, rows), clamped(column, width)}));
    const Expr x = guarded(load(0, DType::f32, {row, column}));
    return reduce(op, {r, c},
                  select(binary(BinaryOp::logical_and, inside(row, rows), inside(column, width)), x, f32(0)));
  });
}

}  // namespace gcg::test
