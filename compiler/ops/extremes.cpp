// gart.Extremes: the least and the largest element of a float x, as two scalars; NaN if any element is NaN.
#include <algorithm>
#include <cmath>
#include <limits>

#include "compiler/ops/op_support.h"
#include "compiler/ops/ops.h"
#include "compiler/ops/program_builder.h"

namespace gcg {
namespace {

enum : int { kLeast, kLargest, kOutputs };
constexpr ReduceOp kFolds[kOutputs] = {ReduceOp::min, ReduceOp::max};

void infer_extremes(InferContext& ctx) {
  if (!is_float(ctx.dtype(0))) ctx.fail("x must be of floats");
  for (int i = 0; i < kOutputs; ++i) ctx.set_output(i, ctx.dtype(0), {});
}

Expr lower_extremes(LowerContext& ctx, int output, const std::vector<Expr>&) {
  const Shape& x = ctx.input_shape(0);
  const Sweep all = sweep(ctx, x, std::vector<bool>(x.size(), true), std::vector<Expr>(x.size(), index(0)));
  return as_output(ctx, output, reduce_over(kFolds[output], all.axes, arithmetic_input(ctx, 0, all.index)));
}

void program_extremes(ProgramBuilder& p) {
  const DType dtype = arithmetic_dtype(p.input_dtype(0));
  const Dim count = product(p.input_shape(0));
  const auto element = [&](const Expr& i) { return cast(dtype, p.input(0, {i})); };
  std::vector<Expr> found;  // finds both in one pass over x
  found.reserve(kOutputs);
  for (const ReduceOp fold : kFolds) found.push_back(p.fold(fold, count, element));
  for (int i = 0; i < kOutputs; ++i) p.store(i, {}, found[i]);
}

std::vector<Tensor> reference_extremes(ReferenceContext& ctx) {
  const Tensor& x = *ctx.input(0);
  double least = std::numeric_limits<double>::infinity(), largest = -least;
  for (int64_t i = 0; i < x.elements(); ++i) {
    const double v = x.at_double(i);
    least = std::isnan(least) || v > least ? least : v;
    largest = std::isnan(largest) || v < largest ? largest : v;
  }
  Tensor low(x.dtype(), {}), high(x.dtype(), {});
  low.set_double(0, least);
  high.set_double(0, largest);
  return {std::move(low), std::move(high)};
}

}  // namespace

constinit const OpDef op_gart_Extremes{.name = "Extremes",
                                       .domain = "gart",
                                       .min_inputs = 1,
                                       .max_inputs = 1,
                                       .min_outputs = kOutputs,
                                       .max_outputs = kOutputs,
                                       .kind = OpKind::reduction,
                                       .traits = {.narrow = Narrow::reads},
                                       .infer = infer_extremes,
                                       .lower = lower_extremes,
                                       .program = program_extremes,
                                       .reference = reference_extremes};

}  // namespace gcg
