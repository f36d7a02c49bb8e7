// GlobalAveragePool, GlobalMaxPool, GlobalLpPool: one value per channel plane.
#include <algorithm>
#include <cmath>
#include <limits>

#include "compiler/ops/op_support.h"
#include "compiler/ops/ops.h"

namespace gcg {
namespace {

void infer_global_pool(InferContext& ctx) {
  if (ctx.rank(0) < 2) ctx.fail("the input must have a batch and a channel dimension");
  Shape shape(ctx.shape(0).size(), 1);
  shape[0] = ctx.shape(0)[0];
  shape[1] = ctx.shape(0)[1];
  ctx.set_output(0, ctx.dtype(0), shape);
}

Sweep plane_of(LowerContext& ctx, const std::vector<Expr>& at) {
  return sweep(ctx, ctx.input_shape(0), trailing_axes(static_cast<int64_t>(at.size()), 2), at);
}

Expr lower_global_average_pool(LowerContext& ctx, int, const std::vector<Expr>& at) {
  const Sweep plane = plane_of(ctx, at);
  return as_output(ctx, 0, mean_over(plane.axes, arithmetic_input(ctx, 0, plane.index)));
}

Expr lower_global_max_pool(LowerContext& ctx, int, const std::vector<Expr>& at) {
  const Sweep plane = plane_of(ctx, at);
  return as_output(ctx, 0, reduce_over(ReduceOp::max, plane.axes, arithmetic_input(ctx, 0, plane.index)));
}

Expr lower_global_lp_pool(LowerContext& ctx, int, const std::vector<Expr>& at) {
  const Sweep plane = plane_of(ctx, at);
  const Expr x = unary(UnaryOp::abs, arithmetic_input(ctx, 0, plane.index));
  const auto p = static_cast<double>(ctx.node().int_attribute("p", 2));
  const Expr sum = reduce_over(ReduceOp::sum, plane.axes, binary(BinaryOp::pow, x, number(x->dtype, p)));
  return as_output(ctx, 0, binary(BinaryOp::pow, sum, number(x->dtype, 1 / p)));
}

template <class Fold>
std::vector<Tensor> by_plane(ReferenceContext& ctx, Fold fold) {
  const Tensor& x = *ctx.input(0);
  std::vector<int64_t> shape(x.shape().size(), 1);
  shape[0] = x.shape()[0];
  shape[1] = x.shape()[1];
  Tensor y(x.dtype(), shape);
  const SplitOffsets offsets = split_offsets(x.shape(), trailing_axes(x.rank(), 2));
  for (size_t o = 0; o < offsets.outer.size(); ++o) {
    std::vector<double> plane;
    for (int64_t i : offsets.swept) plane.push_back(x.at_double(offsets.outer[o] + i));
    y.set_double(static_cast<int64_t>(o), fold(plane));
  }
  return {y};
}

std::vector<Tensor> reference_global_average_pool(ReferenceContext& ctx) {
  return by_plane(ctx, [](const std::vector<double>& plane) {
    double sum = 0;
    for (double x : plane) sum += x;
    return sum / static_cast<double>(plane.size());
  });
}

std::vector<Tensor> reference_global_max_pool(ReferenceContext& ctx) {
  return by_plane(ctx, [](const std::vector<double>& plane) {
    double largest = -std::numeric_limits<double>::infinity();
    for (double x : plane) {
      if (std::isnan(x)) return x;
      largest = std::max(largest, x);
    }
    return largest;
  });
}

std::vector<Tensor> reference_global_lp_pool(ReferenceContext& ctx) {
  const auto p = static_cast<double>(ctx.node().int_attribute("p", 2));
  return by_plane(ctx, [p](const std::vector<double>& plane) {
    double sum = 0;
    for (double x : plane) sum += std::pow(std::abs(x), p);
    return std::pow(sum, 1 / p);
  });
}

using Lower = Expr (*)(LowerContext&, int, const std::vector<Expr>&);
using Reference = std::vector<Tensor> (*)(ReferenceContext&);

constexpr OpDef global_pool_op(const char* name, Narrow narrow, Lower lower, Reference reference) {
  return {.name = name,
          .since = 1,
          .min_inputs = 1,
          .max_inputs = 1,
          .types = {Types::floats},
          .kind = OpKind::reduction,
          .traits = {.narrow = narrow},
          .infer = infer_global_pool,
          .lower = lower,
          .reference = reference};
}

}  // namespace

const OpDef op_GlobalAveragePool =
    global_pool_op("GlobalAveragePool", Narrow::links, lower_global_average_pool, reference_global_average_pool);
const OpDef op_GlobalMaxPool =
    global_pool_op("GlobalMaxPool", Narrow::links, lower_global_max_pool, reference_global_max_pool);
const OpDef op_GlobalLpPool =
    global_pool_op("GlobalLpPool", Narrow::no, lower_global_lp_pool, reference_global_lp_pool);

}  // namespace gcg
