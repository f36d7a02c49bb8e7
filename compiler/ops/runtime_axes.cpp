#include "compiler/ops/runtime_axes.h"

#include "compiler/ops/index.h"

namespace gcg {

Expr names_axis(LowerContext& ctx, int i, int64_t a, int64_t d, int64_t rank) {
  const Expr axis = integer_input(ctx, i, Index(ctx.input_shape(i).size(), index(a)));
  const auto is = [&](int64_t value) { return binary(BinaryOp::equal, axis, index(value)); };
  return binary(BinaryOp::logical_or, is(d), is(d - rank));
}

Expr is_named(LowerContext& ctx, int i, int64_t d, int64_t rank) {
  Expr named = boolean(false);
  for (int64_t a = 0; a < product(ctx.input_shape(i)).constant(); ++a)
    named = binary(BinaryOp::logical_or, named, names_axis(ctx, i, a, d, rank));
  return named;
}

Expr named_before(LowerContext& ctx, int i, int64_t d, int64_t rank) {
  Expr count = index(0);
  for (int64_t before = 0; before < d; ++before) count = count + cast(DType::i64, is_named(ctx, i, before, rank));
  return count;
}

Expr unnamed_extent(LowerContext& ctx, int i, const Shape& shape, int64_t j) {
  const auto rank = static_cast<int64_t>(shape.size());
  Expr result = index(0);
  for (int64_t d = j; d < rank; ++d) {
    const Expr number = index(d) - named_before(ctx, i, d, rank);
    const Expr here = binary(BinaryOp::logical_and, unary(UnaryOp::logical_not, is_named(ctx, i, d, rank)),
                             binary(BinaryOp::equal, number, index(j)));
    result = select(here, extent(shape[static_cast<size_t>(d)]), result);
  }
  return result;
}

}  // namespace gcg
