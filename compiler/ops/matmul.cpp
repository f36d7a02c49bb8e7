// MatMul and Gemm.
#include <algorithm>

#include "compiler/ops/matmul_shapes.h"
#include "compiler/ops/op_support.h"
#include "compiler/ops/ops.h"

namespace gcg {

MatMulShapes matmul_shapes(InferContext& ctx) {
  Shape a = ctx.shape(0), b = ctx.shape(1);
  if (a.empty() || b.empty()) ctx.fail("the operands must have at least one dimension");
  const bool row = a.size() == 1, column = b.size() == 1;
  if (row) a.insert(a.begin(), 1);
  if (column) b.push_back(1);
  ctx.require_equal(a.back(), b[b.size() - 2], "the inner extents");
  Shape result = ctx.broadcast(Shape(a.begin(), a.end() - 2), Shape(b.begin(), b.end() - 2));
  if (!row) result.push_back(a[a.size() - 2]);
  if (!column) result.push_back(b.back());
  return {std::move(a), std::move(b), std::move(result)};
}

namespace {

void infer_matmul(InferContext& ctx) { ctx.set_output(0, ctx.dtype(0), matmul_shapes(ctx).result); }

Expr lower_matmul(LowerContext& ctx, int, const std::vector<Expr>& at) {
  const Shape &a = ctx.input_shape(0), &b = ctx.input_shape(1);
  const size_t matrix = (a.size() > 1 ? 1 : 0) + (b.size() > 1 ? 1 : 0);  // non-batch dimensions of the result
  const std::span<const Expr> batch(at.data(), at.size() - matrix);
  const Axis k = ctx.fresh_axis(a.back());
  std::vector<Expr> a_index, b_index;
  if (a.size() > 1) {
    a_index = broadcast_index(Shape(a.begin(), a.end() - 2), batch);
    a_index.push_back(at[batch.size()]);
  }
  a_index.push_back(axis_ref(k));
  if (b.size() > 1) b_index = broadcast_index(Shape(b.begin(), b.end() - 2), batch);
  b_index.push_back(axis_ref(k));
  if (b.size() > 1) b_index.push_back(at.back());
  const Expr term = arithmetic_input(ctx, 0, a_index) * arithmetic_input(ctx, 1, b_index);
  return as_output(ctx, 0, reduce(ReduceOp::sum, {k}, term));
}

std::vector<int64_t> drop_back(const std::vector<int64_t>& shape, size_t count) {
  return {shape.begin(), shape.end() - static_cast<std::ptrdiff_t>(count)};
}

std::vector<Tensor> reference_matmul(ReferenceContext& ctx) {
  const Tensor &a = *ctx.input(0), &b = *ctx.input(1);
  std::vector<int64_t> a_shape = a.shape(), b_shape = b.shape();
  if (a.rank() == 1) a_shape.insert(a_shape.begin(), 1);
  if (b.rank() == 1) b_shape.push_back(1);
  const int64_t m = a_shape[a_shape.size() - 2], k = a_shape.back(), n = b_shape.back();
  const std::vector<int64_t> a_batch = drop_back(a_shape, 2), b_batch = drop_back(b_shape, 2);
  std::vector<int64_t> shape(std::max(a_batch.size(), b_batch.size()), 1);
  for (const auto& from : {a_batch, b_batch}) {
    for (size_t d = 0; d < from.size(); ++d) {
      int64_t& extent = shape[shape.size() - from.size() + d];
      if (from[d] != 1) extent = from[d];
    }
  }
  const std::vector<int64_t> a_at = broadcast_offsets(a_batch, shape), b_at = broadcast_offsets(b_batch, shape);
  if (a.rank() > 1) shape.push_back(m);
  if (b.rank() > 1) shape.push_back(n);
  Tensor y(a.dtype(), shape);
  with_number_type(a.dtype(), [&]<class T>() {
    int64_t o = 0;
    for (size_t batch = 0; batch < a_at.size(); ++batch) {
      for (int64_t i = 0; i < m; ++i) {
        for (int64_t j = 0; j < n; ++j, ++o) {
          T sum{};
          for (int64_t x = 0; x < k; ++x) {
            const T left = get<T>(a, (a_at[batch] * m + i) * k + x), right = get<T>(b, (b_at[batch] * k + x) * n + j);
            sum = wrapping_add(sum, wrapping_mul(left, right));
          }
          put<T>(y, o, sum);
        }
      }
    }
  });
  return {y};
}

struct GemmParams {
  bool transpose_a, transpose_b;
  double alpha, beta;
};
GemmParams gemm_params(const Node& node) {
  return {node.int_attribute("transA", 0) != 0, node.int_attribute("transB", 0) != 0, node.float_attribute("alpha", 1),
          node.float_attribute("beta", 1)};
}

/// y[m, n] = alpha * op(a) op(b) + beta * c, c broadcast to [m, n].
void infer_gemm(InferContext& ctx) {
  if (ctx.rank(0) != 2 || ctx.rank(1) != 2) ctx.fail("A and B must be matrices");
  const GemmParams params = gemm_params(ctx.node());
  const Shape &a = ctx.shape(0), &b = ctx.shape(1);
  ctx.require_equal(a[params.transpose_a ? 0 : 1], b[params.transpose_b ? 1 : 0], "the inner extents");
  const Shape result = {a[params.transpose_a ? 1 : 0], b[params.transpose_b ? 0 : 1]};
  if (ctx.has_input(2)) {
    const Shape& c = ctx.shape(2);
    if (c.size() > 2) ctx.fail("C must have at most two dimensions");
    for (size_t d = 0; d < c.size(); ++d) {
      if (!c[d].is(1)) ctx.require_equal(result[2 - c.size() + d], c[d], "C and the product");
    }
  }
  ctx.set_output(0, ctx.dtype(0), result);
}

/// factor * x. Integers are scaled in f64, since the factor may have a fraction.
Expr scaled(double factor, const Expr& x) {
  if (factor == 1) return x;
  if (is_float(x->dtype)) return number(x->dtype, factor) * x;
  return cast(x->dtype, number(DType::f64, factor) * cast(DType::f64, x));
}

Expr lower_gemm(LowerContext& ctx, int, const std::vector<Expr>& at) {
  const GemmParams params = gemm_params(ctx.node());
  const Axis axis = ctx.fresh_axis(ctx.input_shape(0)[params.transpose_a ? 0 : 1]);
  const Expr k = axis_ref(axis);
  const Expr a = arithmetic_input(ctx, 0, params.transpose_a ? std::vector{k, at[0]} : std::vector{at[0], k});
  const Expr b = arithmetic_input(ctx, 1, params.transpose_b ? std::vector{at[1], k} : std::vector{k, at[1]});
  Expr y = scaled(params.alpha, reduce(ReduceOp::sum, {axis}, a * b));
  if (ctx.has_input(2) && params.beta != 0) {
    y = y + scaled(params.beta, arithmetic_input(ctx, 2, broadcast_index(ctx.input_shape(2), at)));
  }
  return as_output(ctx, 0, y);
}

std::vector<Tensor> reference_gemm(ReferenceContext& ctx) {
  const GemmParams params = gemm_params(ctx.node());
  const Tensor &a = *ctx.input(0), &b = *ctx.input(1);
  const Tensor* c = ctx.input_count() > 2 && params.beta != 0 ? ctx.input(2) : nullptr;
  const int64_t m = a.shape()[params.transpose_a ? 1 : 0], k = a.shape()[params.transpose_a ? 0 : 1];
  const int64_t n = b.shape()[params.transpose_b ? 0 : 1];
  Tensor y(a.dtype(), {m, n});
  const std::vector<int64_t> c_at = c ? broadcast_offsets(c->shape(), y.shape()) : std::vector<int64_t>{};
  with_number_type(a.dtype(), [&]<class T>() {
    const auto scale = [](double factor, T x) {
      return factor == 1 ? x : static_cast<T>(factor * static_cast<double>(x));
    };
    for (int64_t i = 0; i < m; ++i) {
      for (int64_t j = 0; j < n; ++j) {
        T sum{};
        for (int64_t x = 0; x < k; ++x) {
          const T left = get<T>(a, params.transpose_a ? x * m + i : i * k + x);
          const T right = get<T>(b, params.transpose_b ? j * k + x : x * n + j);
          sum = wrapping_add(sum, wrapping_mul(left, right));
        }
        sum = scale(params.alpha, sum);
        if (c) sum = wrapping_add(sum, scale(params.beta, get<T>(*c, c_at[static_cast<size_t>(i * n + j)])));
        put<T>(y, i * n + j, sum);
      }
    }
  });
  return {y};
}

}  // namespace

const OpDef op_MatMul = {.name = "MatMul",
                         .since = 1,
                         .min_inputs = 2,
                         .max_inputs = 2,
                         .types = {Types::numbers, Types::as_first},
                         .kind = OpKind::contraction,
                         .infer = infer_matmul,
                         .lower = lower_matmul,
                         .reference = reference_matmul};
const OpDef op_Gemm = {.name = "Gemm",
                       .since = 1,
                       .min_inputs = 2,
                       .max_inputs = 3,
                       .types = {Types::numbers, Types::as_first},
                       .kind = OpKind::contraction,
                       .infer = infer_gemm,
                       .lower = lower_gemm,
                       .reference = reference_gemm};

}  // namespace gcg
