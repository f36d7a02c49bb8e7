// Det: determinants of small matrices [.., n, n], written out by minors.
#include <cmath>

#include "compiler/ops/index.h"
#include "compiler/ops/ops.h"
#include "compiler/ops/pointwise.h"

namespace gcg {
namespace {

constexpr int64_t kMostRows = 5;  // n! products

void infer_det(InferContext& ctx) {
  require_dtype(ctx, 0, is_float, "a float type");
  const Shape& x = ctx.shape(0);
  if (x.size() < 2) ctx.fail("the input must have at least 2 dimensions");
  ctx.require_equal(x[x.size() - 2], x.back(), "rows and columns");
  if (!x.back().is_constant() || x.back().constant() > kMostRows)
    ctx.fail(concat("matrices of ", x.back().str(), " rows are not supported, ", kMostRows, " and fewer are"));
  ctx.set_output(0, ctx.dtype(0), Shape(x.begin(), x.end() - 2));
}

/// Of the rows from `row` on and the given columns.
Expr minor(LowerContext& ctx, const Index& batch, int64_t row, const std::vector<int64_t>& columns) {
  Expr sum;
  for (size_t c = 0; c < columns.size(); ++c) {
    Index at = batch;
    at.insert(at.end(), {index(row), index(columns[c])});
    std::vector<int64_t> others = columns;
    others.erase(others.begin() + static_cast<std::ptrdiff_t>(c));
    Expr term = arithmetic_input(ctx, 0, at);
    if (!others.empty()) term = term * minor(ctx, batch, row + 1, others);
    sum = !sum ? term : c % 2 == 0 ? sum + term : sum - term;
  }
  return sum ? sum : number(arithmetic_dtype(ctx.input_value(0).dtype), 1);
}

Expr lower_det(LowerContext& ctx, int output, const std::vector<Expr>& at) {
  std::vector<int64_t> columns;
  for (int64_t c = 0; c < ctx.input_shape(0).back().constant(); ++c) columns.push_back(c);
  return as_output(ctx, output, minor(ctx, at, 0, columns));
}

/// By elimination with the largest pivots.
double determinant(std::vector<double> m, int64_t n) {
  double result = 1;
  const auto at = [&](int64_t r, int64_t c) -> double& { return m[static_cast<size_t>(r * n + c)]; };
  for (int64_t k = 0; k < n; ++k) {
    int64_t pivot = k;
    for (int64_t r = k + 1; r < n; ++r)
      if (std::fabs(at(r, k)) > std::fabs(at(pivot, k))) pivot = r;
    if (at(pivot, k) == 0) return 0;
    if (pivot != k) result = -result;
    for (int64_t c = 0; c < n; ++c) std::swap(at(pivot, c), at(k, c));
    result *= at(k, k);
    for (int64_t r = k + 1; r < n; ++r)
      for (int64_t c = n; c-- > k;) at(r, c) -= at(r, k) / at(k, k) * at(k, c);
  }
  return result;
}

std::vector<Tensor> reference_det(ReferenceContext& ctx) {
  const Tensor& x = *ctx.input(0);
  const int64_t n = x.shape().back();
  Tensor y(x.dtype(), {x.shape().begin(), x.shape().end() - 2});
  for (int64_t i = 0; i < y.elements(); ++i) {
    std::vector<double> m;
    for (int64_t e = 0; e < n * n; ++e) m.push_back(x.at_double(i * n * n + e));
    y.set_double(i, determinant(std::move(m), n));
  }
  return {std::move(y)};
}

}  // namespace

constinit const OpDef op_Det{.name = "Det",
                             .since = 11,
                             .min_inputs = 1,
                             .max_inputs = 1,
                             .kind = OpKind::movement,
                             .traits = {.narrow = Narrow::no},
                             .infer = infer_det,
                             .lower = lower_det,
                             .reference = reference_det};

}  // namespace gcg
