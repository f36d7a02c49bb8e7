// Softmax, LogSoftmax, Hardmax.
//
// Before opset 13 the input was flattened to two dimensions at `axis` (default 1), so all dimensions from `axis` on are
// normalised together. The upgrade keeps that meaning in the attribute `flatten`, which newer models never have.
#include <algorithm>
#include <cmath>
#include <limits>

#include "compiler/ops/op_support.h"
#include "compiler/ops/ops.h"

namespace gcg {
namespace {

void upgrade_softmax(UpgradeContext& ctx) {
  if (ctx.version >= 13) return;
  const int64_t axis = ctx.node.int_attribute("axis", 1);
  const auto& shape = ctx.graph.value(ctx.node.inputs[0]).shape;
  ctx.node.attributes["axis"] = axis;
  const bool last = axis == -1 || (shape && axis == static_cast<int64_t>(shape->size()) - 1);
  if (!last) ctx.node.attributes["flatten"] = int64_t{1};
}

std::vector<bool> normalised_axes(const Node& node, int64_t rank) {
  const int64_t axis = wrap_axis(node.int_attribute("axis", -1), rank);
  if (node.int_attribute("flatten", 0) != 0) return trailing_axes(rank, axis);
  std::vector<bool> axes(static_cast<size_t>(rank), false);
  if (rank > 0) axes[static_cast<size_t>(axis)] = true;
  return axes;
}

void infer_softmax(InferContext& ctx) {
  const int64_t axis = ctx.node().int_attribute("axis", -1);
  // If axis equals the rank, each row has one element. A scalar has no axis to check.
  const bool past_end = ctx.node().int_attribute("flatten", 0) != 0 && axis == ctx.rank(0);
  if (ctx.rank(0) > 0 && !past_end) ctx.axis(axis, ctx.rank(0));
  ctx.set_output(0, ctx.dtype(0), ctx.shape(0));
}

std::vector<bool> axes_of(const LowerContext& ctx) {
  return normalised_axes(ctx.node(), static_cast<int64_t>(ctx.input_shape(0).size()));
}

/// The largest element of the row that contains `at`.
Expr row_max(LowerContext& ctx, const std::vector<bool>& axes, const std::vector<Expr>& at) {
  const Sweep row = sweep(ctx, ctx.input_shape(0), axes, at);
  return reduce_over(ReduceOp::max, row.axes, arithmetic_input(ctx, 0, row.index));
}

Expr sum_of_exp(LowerContext& ctx, const std::vector<bool>& axes, const Expr& largest, const std::vector<Expr>& at) {
  const Sweep row = sweep(ctx, ctx.input_shape(0), axes, at);
  return reduce_over(ReduceOp::sum, row.axes, unary(UnaryOp::exp, arithmetic_input(ctx, 0, row.index) - largest));
}

Expr lower_softmax(LowerContext& ctx, int, const std::vector<Expr>& at) {
  const std::vector<bool> axes = axes_of(ctx);
  const Expr largest = row_max(ctx, axes, at);
  const Expr sum = sum_of_exp(ctx, axes, largest, at);
  const Expr e = unary(UnaryOp::exp, arithmetic_input(ctx, 0, at) - largest);
  // A division costs as much as ten multiplications, so the reciprocal of the sum is multiplied. The sum is at least 1,
  // so its reciprocal cannot overflow.
  return as_output(ctx, 0, e * unary(UnaryOp::reciprocal, sum));
}

Expr lower_log_softmax(LowerContext& ctx, int, const std::vector<Expr>& at) {
  const std::vector<bool> axes = axes_of(ctx);
  const Expr largest = row_max(ctx, axes, at);
  const Expr sum = sum_of_exp(ctx, axes, largest, at);
  return as_output(ctx, 0, arithmetic_input(ctx, 0, at) - largest - unary(UnaryOp::log, sum));
}

/// Position of an index among the swept dimensions, in row-major order.
Expr position(const Shape& shape, const std::vector<bool>& axes, const std::vector<Expr>& at) {
  Expr result = index(0);
  for (size_t d = 0; d < shape.size(); ++d) {
    if (axes[d]) result = result * extent(shape[d]) + at[d];
  }
  return result;
}

/// 1 at the first position of the row's maximum, else 0.
Expr lower_hardmax(LowerContext& ctx, int, const std::vector<Expr>& at) {
  const std::vector<bool> axes = axes_of(ctx);
  const Expr largest = row_max(ctx, axes, at);
  const Sweep row = sweep(ctx, ctx.input_shape(0), axes, at);
  const Expr x = arithmetic_input(ctx, 0, row.index);
  const Expr here = binary(BinaryOp::logical_or, binary(BinaryOp::equal, x, largest), unary(UnaryOp::is_nan, x));
  const Expr place =
      select(here, position(ctx.input_shape(0), axes, row.index), index(std::numeric_limits<int64_t>::max()));
  const Expr first = reduce_over(ReduceOp::min, row.axes, place);
  const DType dtype = ctx.output_value(0).dtype;
  const Expr is_first = binary(BinaryOp::equal, position(ctx.input_shape(0), axes, at), first);
  return select(is_first, number(dtype, 1), number(dtype, 0));
}

double max_or_nan(const std::vector<double>& row) {
  double largest = -std::numeric_limits<double>::infinity();
  for (double x : row) {
    if (std::isnan(x)) return x;
    largest = std::max(largest, x);
  }
  return largest;
}

void softmax(std::vector<double>& row, bool logarithm) {
  const double largest = max_or_nan(row);
  double sum = 0;
  for (double x : row) sum += std::exp(x - largest);
  for (double& x : row) x = logarithm ? x - largest - std::log(sum) : std::exp(x - largest) / sum;
}

void hardmax(std::vector<double>& row) {
  const double largest = max_or_nan(row);
  const auto first = std::find_if(row.begin(), row.end(), [&](double x) { return x == largest || std::isnan(x); });
  const auto place = first - row.begin();
  std::fill(row.begin(), row.end(), 0.0);
  if (!row.empty()) row[static_cast<size_t>(place)] = 1;
}

template <class Normalise>
std::vector<Tensor> by_rows(ReferenceContext& ctx, Normalise normalise) {
  const Tensor& x = *ctx.input(0);
  Tensor y(x.dtype(), x.shape());
  const SplitOffsets offsets = split_offsets(x.shape(), normalised_axes(ctx.node(), x.rank()));
  std::vector<double> row(offsets.swept.size());
  for (int64_t start : offsets.outer) {
    for (size_t i = 0; i < row.size(); ++i) row[i] = x.at_double(start + offsets.swept[i]);
    normalise(row);
    for (size_t i = 0; i < row.size(); ++i) y.set_double(start + offsets.swept[i], row[i]);
  }
  return {y};
}

std::vector<Tensor> reference_softmax(ReferenceContext& ctx) {
  return by_rows(ctx, [](std::vector<double>& row) { softmax(row, false); });
}
std::vector<Tensor> reference_log_softmax(ReferenceContext& ctx) {
  return by_rows(ctx, [](std::vector<double>& row) { softmax(row, true); });
}
std::vector<Tensor> reference_hardmax(ReferenceContext& ctx) { return by_rows(ctx, hardmax); }

using Lower = Expr (*)(LowerContext&, int, const std::vector<Expr>&);
using Reference = std::vector<Tensor> (*)(ReferenceContext&);

constexpr OpDef softmax_op(const char* name, Traits traits, Lower lower, Reference reference) {
  return {.name = name,
          .since = 1,
          .min_inputs = 1,
          .max_inputs = 1,
          .types = {Types::floats},
          .kind = OpKind::reduction,
          .traits = traits,
          .upgrade = upgrade_softmax,
          .infer = infer_softmax,
          .lower = lower,
          .reference = reference};
}

}  // namespace

const OpDef op_Softmax = softmax_op(
    "Softmax", {.cost = Cost::expensive, .reads = Reads::row, .narrow = Narrow::links, .magnitude = Magnitude::bounded},
    lower_softmax, reference_softmax);
const OpDef op_LogSoftmax =
    softmax_op("LogSoftmax", {.cost = Cost::expensive, .reads = Reads::row}, lower_log_softmax, reference_log_softmax);
const OpDef op_Hardmax = softmax_op("Hardmax", {.reads = Reads::row}, lower_hardmax, reference_hardmax);

}  // namespace gcg
