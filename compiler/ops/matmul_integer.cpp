// MatMulInteger: (a - a_zero_point) by (b - b_zero_point) of 8-bit integers, summed in i32. A zero point is one number,
// or one per row of a, or one per column of b.
#include "compiler/ops/op_support.h"
#include "compiler/ops/ops.h"

namespace gcg {
namespace {

void infer_matmul_integer(InferContext& ctx) {
  if (ctx.rank(0) < 2 || ctx.rank(1) < 2) ctx.fail("the operands must be matrices or batches of them");
  const Shape &a = ctx.shape(0), &b = ctx.shape(1);
  ctx.require_equal(a.back(), b[b.size() - 2], "the inner extents");
  for (int i : {2, 3}) {
    if (!ctx.has_input(i)) continue;
    const Dim& extent = i == 2 ? a[a.size() - 2] : b.back();
    if (ctx.rank(i) > 1) ctx.fail("a zero point must have at most one dimension");
    if (ctx.rank(i) == 1 && !ctx.shape(i)[0].is(1)) ctx.require_equal(ctx.shape(i)[0], extent, "zero points");
  }
  Shape shape = ctx.broadcast(Shape(a.begin(), a.end() - 2), Shape(b.begin(), b.end() - 2));
  shape.push_back(a[a.size() - 2]);
  shape.push_back(b.back());
  ctx.set_output(0, DType::i32, shape);
}

Expr centred(LowerContext& ctx, int i, const std::vector<Expr>& at, const Expr& line) {
  const Expr x = cast(DType::i32, ctx.input(i, at));
  if (!ctx.has_input(i + 2)) return x;
  const Shape& zero = ctx.input_shape(i + 2);
  std::vector<Expr> index_of;
  if (zero.size() == 1) index_of.push_back(zero[0].is(1) ? index(0) : line);
  return x - cast(DType::i32, ctx.input(i + 2, index_of));
}

Expr lower_matmul_integer(LowerContext& ctx, int, const std::vector<Expr>& at) {
  const Shape &a = ctx.input_shape(0), &b = ctx.input_shape(1);
  const Expr row = at[at.size() - 2], column = at.back();
  const std::span<const Expr> batch(at.data(), at.size() - 2);
  const Axis k = ctx.fresh_axis(a.back());
  std::vector<Expr> a_index = broadcast_index(Shape(a.begin(), a.end() - 2), batch),
                    b_index = broadcast_index(Shape(b.begin(), b.end() - 2), batch);
  a_index.insert(a_index.end(), {row, axis_ref(k)});
  b_index.insert(b_index.end(), {axis_ref(k), column});
  return reduce(ReduceOp::sum, {k}, centred(ctx, 0, a_index, row) * centred(ctx, 1, b_index, column));
}

int64_t zero_point(const Tensor* zero, int64_t line) {
  if (!zero) return 0;
  return zero->at_int(zero->elements() == 1 ? 0 : line);
}

std::vector<Tensor> reference_matmul_integer(ReferenceContext& ctx) {
  const Tensor &a = *ctx.input(0), &b = *ctx.input(1);
  const Tensor* a_zero = ctx.input_count() > 2 ? ctx.input(2) : nullptr;
  const Tensor* b_zero = ctx.input_count() > 3 ? ctx.input(3) : nullptr;
  const std::vector<int64_t> a_batch(a.shape().begin(), a.shape().end() - 2),
      b_batch(b.shape().begin(), b.shape().end() - 2);
  const int64_t m = a.shape()[a.shape().size() - 2], k = a.shape().back(), n = b.shape().back();
  std::vector<int64_t> shape(std::max(a_batch.size(), b_batch.size()), 1);
  for (const auto& from : {a_batch, b_batch}) {
    for (size_t d = 0; d < from.size(); ++d) {
      if (from[d] != 1) shape[shape.size() - from.size() + d] = from[d];
    }
  }
  const std::vector<int64_t> a_at = broadcast_offsets(a_batch, shape), b_at = broadcast_offsets(b_batch, shape);
  shape.insert(shape.end(), {m, n});
  Tensor y(DType::i32, shape);
  for (int64_t o = 0; o < y.elements(); ++o) {
    const int64_t row = o / n % m, column = o % n;
    const auto batch = static_cast<size_t>(o / (m * n));
    int64_t sum = 0;
    for (int64_t i = 0; i < k; ++i) {
      const int64_t left = a.at_int((a_at[batch] * m + row) * k + i) - zero_point(a_zero, row);
      sum += left * (b.at_int((b_at[batch] * k + i) * n + column) - zero_point(b_zero, column));
    }
    y.set_int(o, sum);
  }
  return {y};
}

}  // namespace

const OpDef op_MatMulInteger = {.name = "MatMulInteger",
                                .since = 10,
                                .min_inputs = 2,
                                .max_inputs = 4,
                                .types = {Types::bytes, Types::bytes, Types::as_first, Types::as_second},
                                .results = {Types::i32},
                                .kind = OpKind::contraction,
                                .infer = infer_matmul_integer,
                                .lower = lower_matmul_integer,
                                .reference = reference_matmul_integer};

}  // namespace gcg
