// MatMulInteger: (a - a_zero_point) by (b - b_zero_point) of 8-bit integers, summed in i32. A zero point is one number,
// one per row of a, or one per column of b. 1-D operands are treated as in MatMul.
#include "compiler/ops/matmul_shapes.h"
#include "compiler/ops/op_support.h"
#include "compiler/ops/ops.h"

namespace gcg {
namespace {

void infer_matmul_integer(InferContext& ctx) {
  const auto [a, b, result] = matmul_shapes(ctx);
  for (int i : {2, 3}) {
    if (!ctx.has_input(i)) continue;
    const Dim& extent = i == 2 ? a[a.size() - 2] : b.back();
    if (ctx.rank(i) > 1) ctx.fail("a zero point must have at most one dimension");
    if (ctx.rank(i) == 1 && !ctx.shape(i)[0].is(1)) ctx.require_equal(ctx.shape(i)[0], extent, "zero points");
  }
  ctx.set_output(0, DType::i32, result);
}

Expr centred(LowerContext& ctx, int i, const std::vector<Expr>& at, const Expr& line) {
  Expr x = cast(DType::i32, ctx.input(i, at));
  if (!ctx.has_input(i + 2)) return x;
  const Shape& zero = ctx.input_shape(i + 2);
  std::vector<Expr> index_of;
  if (zero.size() == 1) index_of.push_back(zero[0].is(1) ? index(0) : line);
  return x - cast(DType::i32, ctx.input(i + 2, index_of));
}

Expr lower_matmul_integer(LowerContext& ctx, int, const std::vector<Expr>& at) {
  const Shape &a = ctx.input_shape(0), &b = ctx.input_shape(1);
  const bool has_rows = a.size() > 1, has_columns = b.size() > 1;
  const std::span<const Expr> batch(at.data(), at.size() - (has_rows ? 1 : 0) - (has_columns ? 1 : 0));
  const Expr row = has_rows ? at[batch.size()] : index(0), column = has_columns ? at.back() : index(0);
  const Axis k = ctx.fresh_axis(a.back());
  std::vector<Expr> a_index, b_index;
  if (has_rows) {
    a_index = broadcast_index(Shape(a.begin(), a.end() - 2), batch);
    a_index.push_back(row);
  }
  a_index.push_back(axis_ref(k));
  if (has_columns) b_index = broadcast_index(Shape(b.begin(), b.end() - 2), batch);
  b_index.push_back(axis_ref(k));
  if (has_columns) b_index.push_back(column);
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
  std::vector<int64_t> a_shape = a.shape(), b_shape = b.shape();
  if (a.rank() == 1) a_shape.insert(a_shape.begin(), 1);
  if (b.rank() == 1) b_shape.push_back(1);
  const std::vector<int64_t> a_batch(a_shape.begin(), a_shape.end() - 2), b_batch(b_shape.begin(), b_shape.end() - 2);
  const int64_t m = a_shape[a_shape.size() - 2], k = a_shape.back(), n = b_shape.back();
  std::vector<int64_t> shape(std::max(a_batch.size(), b_batch.size()), 1);
  for (const auto& from : {a_batch, b_batch}) {
    for (size_t d = 0; d < from.size(); ++d) {
      if (from[d] != 1) shape[shape.size() - from.size() + d] = from[d];
    }
  }
  const std::vector<int64_t> a_at = broadcast_offsets(a_batch, shape), b_at = broadcast_offsets(b_batch, shape);
  if (a.rank() > 1) shape.push_back(m);
  if (b.rank() > 1) shape.push_back(n);
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
