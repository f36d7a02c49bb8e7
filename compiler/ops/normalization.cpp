// LayerNormalization, RMSNormalization, LpNormalization and MeanVarianceNormalization. Their statistics are over rows
// of one input.
#include <cmath>

#include "compiler/ops/op_support.h"
#include "compiler/ops/ops.h"

namespace gcg {
namespace {

// ---- LayerNormalization and RMSNormalization: over all dimensions from `axis` on, then scaled by a broadcast weight

int64_t first_axis(const Node& node, int64_t rank) { return wrap_axis(node.int_attribute("axis", -1), rank); }

/// The element type of the outputs Mean and InvStdDev.
DType statistics_dtype(const Node& node) {
  return dtype_from_onnx(static_cast<int32_t>(node.int_attribute("stash_type", 1))).value_or(DType::f32);
}

void infer_row_norm(InferContext& ctx) {
  const int64_t axis = ctx.axis(ctx.node().int_attribute("axis", -1), ctx.rank(0));
  for (int i = 1; i < ctx.input_count(); ++i) {
    if (!ctx.has_input(i)) continue;
    const Shape& weight = ctx.shape(i);
    if (ctx.rank(i) > ctx.rank(0)) ctx.fail("scale and bias must not have a higher rank than the input");
    for (size_t d = 0; d < weight.size(); ++d) {
      if (!weight[d].is(1))
        ctx.require_equal(ctx.shape(0)[ctx.shape(0).size() - weight.size() + d], weight[d], "scale or bias");
    }
  }
  ctx.set_output(0, ctx.dtype(0), ctx.shape(0));
  Shape statistics = ctx.shape(0);
  for (size_t d = static_cast<size_t>(axis); d < statistics.size(); ++d) statistics[d] = 1;
  for (int o = 1; o < ctx.output_count(); ++o) ctx.set_output(o, statistics_dtype(ctx.node()), statistics);
}

Expr row_mean(LowerContext& ctx, const std::vector<bool>& axes, const std::vector<Expr>& at) {
  const Sweep row = sweep(ctx, ctx.input_shape(0), axes, at);
  return mean_over(row.axes, arithmetic_input(ctx, 0, row.index));
}

/// Mean of (x - center)^2 over the row. A pass of its own keeps it accurate if the mean is large. A null center is
/// zero.
Expr row_variance(LowerContext& ctx, const std::vector<bool>& axes, const Expr& center, const std::vector<Expr>& at) {
  const Sweep row = sweep(ctx, ctx.input_shape(0), axes, at);
  Expr x = arithmetic_input(ctx, 0, row.index);
  if (center) x = x - center;
  return mean_over(row.axes, x * x);
}

Expr inverse_deviation(const Node& node, const Expr& variance) {
  return unary(UnaryOp::rsqrt, variance + number(variance->dtype, node.float_attribute("epsilon", 1e-5)));
}

/// The weight in the type that x is computed in, whatever its own type.
Expr broadcast_weight(LowerContext& ctx, int i, const std::vector<Expr>& at) {
  return cast(arithmetic_dtype(ctx.input_value(0).dtype),
              arithmetic_input(ctx, i, broadcast_index(ctx.input_shape(i), at)));
}

Expr lower_layer_norm(LowerContext& ctx, int output, const std::vector<Expr>& at) {
  const auto rank = static_cast<int64_t>(ctx.input_shape(0).size());
  const std::vector<bool> axes = trailing_axes(rank, first_axis(ctx.node(), rank));
  const Expr mean = row_mean(ctx, axes, at);
  if (output == 1) return as_output(ctx, 1, mean);
  const Expr inverse = inverse_deviation(ctx.node(), row_variance(ctx, axes, mean, at));
  if (output == 2) return as_output(ctx, 2, inverse);
  Expr y = (arithmetic_input(ctx, 0, at) - mean) * inverse * broadcast_weight(ctx, 1, at);
  if (ctx.has_input(2)) y = y + broadcast_weight(ctx, 2, at);
  return as_output(ctx, 0, y);
}

Expr lower_rms_norm(LowerContext& ctx, int, const std::vector<Expr>& at) {
  const auto rank = static_cast<int64_t>(ctx.input_shape(0).size());
  const std::vector<bool> axes = trailing_axes(rank, first_axis(ctx.node(), rank));
  const Expr inverse = inverse_deviation(ctx.node(), row_variance(ctx, axes, nullptr, at));
  return as_output(ctx, 0, arithmetic_input(ctx, 0, at) * inverse * broadcast_weight(ctx, 1, at));
}

std::vector<Tensor> reference_row_norm(ReferenceContext& ctx, bool centred) {
  const Tensor &x = *ctx.input(0), &scale = *ctx.input(1);
  const Tensor* bias = ctx.input_count() > 2 ? ctx.input(2) : nullptr;
  const int64_t axis = first_axis(ctx.node(), x.rank());
  const double epsilon = ctx.node().float_attribute("epsilon", 1e-5);
  std::vector<int64_t> statistics_shape = x.shape();
  for (size_t d = static_cast<size_t>(axis); d < statistics_shape.size(); ++d) statistics_shape[d] = 1;
  Tensor y(x.dtype(), x.shape());
  const DType stash = statistics_dtype(ctx.node());
  Tensor means(stash, statistics_shape), inverses(stash, statistics_shape);
  const SplitOffsets offsets = split_offsets(x.shape(), trailing_axes(x.rank(), axis));
  const std::vector<int64_t> scale_at = broadcast_offsets(scale.shape(), x.shape());
  const std::vector<int64_t> bias_at = bias ? broadcast_offsets(bias->shape(), x.shape()) : std::vector<int64_t>{};
  const auto count = static_cast<double>(offsets.swept.size());
  for (size_t r = 0; r < offsets.outer.size(); ++r) {
    double mean = 0, variance = 0;
    for (int64_t i : offsets.swept) mean += centred ? x.at_double(offsets.outer[r] + i) : 0;
    mean /= count;
    for (int64_t i : offsets.swept) variance += std::pow(x.at_double(offsets.outer[r] + i) - mean, 2);
    const double inverse = 1 / std::sqrt(variance / count + epsilon);
    means.set_double(static_cast<int64_t>(r), mean);
    inverses.set_double(static_cast<int64_t>(r), inverse);
    for (int64_t i : offsets.swept) {
      const int64_t at = offsets.outer[r] + i;
      const double weight = scale.at_double(scale_at[static_cast<size_t>(at)]);
      const double shift = bias ? bias->at_double(bias_at[static_cast<size_t>(at)]) : 0;
      y.set_double(at, (x.at_double(at) - mean) * inverse * weight + shift);
    }
  }
  return {y, means, inverses};
}

std::vector<Tensor> reference_layer_norm(ReferenceContext& ctx) {
  std::vector<Tensor> outputs = reference_row_norm(ctx, true);
  outputs.resize(static_cast<size_t>(ctx.output_count()));
  return outputs;
}

std::vector<Tensor> reference_rms_norm(ReferenceContext& ctx) { return {reference_row_norm(ctx, false)[0]}; }

// ---- LpNormalization: x / |x|_p along one axis; zero rows stay zero

std::vector<bool> lp_axes(const Node& node, int64_t rank) {
  std::vector<bool> axes(static_cast<size_t>(rank), false);
  axes[static_cast<size_t>(first_axis(node, rank))] = true;
  return axes;
}

void infer_lp_norm(InferContext& ctx) {
  ctx.axis(ctx.node().int_attribute("axis", -1), ctx.rank(0));
  const int64_t p = ctx.node().int_attribute("p", 2);
  if (p != 1 && p != 2) ctx.fail(concat("p is ", p, ", it must be 1 or 2"));
  ctx.set_output(0, ctx.dtype(0), ctx.shape(0));
}

Expr lower_lp_norm(LowerContext& ctx, int, const std::vector<Expr>& at) {
  const std::vector<bool> axes = lp_axes(ctx.node(), static_cast<int64_t>(at.size()));
  const Sweep row = sweep(ctx, ctx.input_shape(0), axes, at);
  const Expr x = arithmetic_input(ctx, 0, row.index);
  const bool squares = ctx.node().int_attribute("p", 2) == 2;
  Expr norm = reduce_over(ReduceOp::sum, row.axes, squares ? x * x : unary(UnaryOp::abs, x));
  if (squares) norm = unary(UnaryOp::sqrt, norm);
  const Expr zero = number(norm->dtype, 0);
  const Expr quotient = binary(BinaryOp::div, arithmetic_input(ctx, 0, at), norm);
  return as_output(ctx, 0, select(binary(BinaryOp::equal, norm, zero), zero, quotient));
}

std::vector<Tensor> reference_lp_norm(ReferenceContext& ctx) {
  const Tensor& x = *ctx.input(0);
  Tensor y(x.dtype(), x.shape());
  const SplitOffsets offsets = split_offsets(x.shape(), lp_axes(ctx.node(), x.rank()));
  const bool squares = ctx.node().int_attribute("p", 2) == 2;
  for (int64_t start : offsets.outer) {
    double norm = 0;
    for (int64_t i : offsets.swept)
      norm += squares ? std::pow(x.at_double(start + i), 2) : std::abs(x.at_double(start + i));
    if (squares) norm = std::sqrt(norm);
    for (int64_t i : offsets.swept) y.set_double(start + i, norm == 0 ? 0 : x.at_double(start + i) / norm);
  }
  return {y};
}

// ---- MeanVarianceNormalization: (x - mean) / (deviation + 1e-9) over `axes`

constexpr double kDeviationFloor = 1e-9;  // the ONNX definition adds this number

std::vector<bool> mvn_axes(const Node& node, int64_t rank) {
  std::vector<bool> axes(static_cast<size_t>(rank), false);
  for (int64_t a : node.ints_attribute("axes", {0, 2, 3})) axes[static_cast<size_t>(wrap_axis(a, rank))] = true;
  return axes;
}

void infer_mvn(InferContext& ctx) {
  for (int64_t a : ctx.node().ints_attribute("axes", {0, 2, 3})) ctx.axis(a, ctx.rank(0));
  ctx.set_output(0, ctx.dtype(0), ctx.shape(0));
}

Expr lower_mvn(LowerContext& ctx, int, const std::vector<Expr>& at) {
  const std::vector<bool> axes = mvn_axes(ctx.node(), static_cast<int64_t>(at.size()));
  const Expr mean = row_mean(ctx, axes, at);
  const Expr deviation = unary(UnaryOp::sqrt, row_variance(ctx, axes, mean, at));
  const Expr divisor = deviation + number(deviation->dtype, kDeviationFloor);
  return as_output(ctx, 0, binary(BinaryOp::div, arithmetic_input(ctx, 0, at) - mean, divisor));
}

std::vector<Tensor> reference_mvn(ReferenceContext& ctx) {
  const Tensor& x = *ctx.input(0);
  Tensor y(x.dtype(), x.shape());
  const SplitOffsets offsets = split_offsets(x.shape(), mvn_axes(ctx.node(), x.rank()));
  const auto count = static_cast<double>(offsets.swept.size());
  for (int64_t start : offsets.outer) {
    double mean = 0, variance = 0;
    for (int64_t i : offsets.swept) mean += x.at_double(start + i);
    mean /= count;
    for (int64_t i : offsets.swept) variance += std::pow(x.at_double(start + i) - mean, 2);
    const double divisor = std::sqrt(variance / count) + kDeviationFloor;
    for (int64_t i : offsets.swept) y.set_double(start + i, (x.at_double(start + i) - mean) / divisor);
  }
  return {y};
}

}  // namespace

const OpDef op_LayerNormalization = {
    .name = "LayerNormalization",
    .since = 1,
    .min_inputs = 2,
    .max_inputs = 3,
    .max_outputs = 3,
    .types = {Types::floats},
    .results = {Types::as_first, Types::floats},
    .kind = OpKind::reduction,
    .traits = {.reads = Reads::row, .narrow = Narrow::links, .magnitude = Magnitude::bounded},
    .infer = infer_row_norm,
    .lower = lower_layer_norm,
    .reference = reference_layer_norm};
const OpDef op_RMSNormalization = {
    .name = "RMSNormalization",
    .since = 23,
    .min_inputs = 2,
    .max_inputs = 2,
    .types = {Types::floats},
    .kind = OpKind::reduction,
    .traits = {.reads = Reads::row, .narrow = Narrow::links, .magnitude = Magnitude::bounded},
    .infer = infer_row_norm,
    .lower = lower_rms_norm,
    .reference = reference_rms_norm};
const OpDef op_LpNormalization = {
    .name = "LpNormalization",
    .since = 1,
    .min_inputs = 1,
    .max_inputs = 1,
    .types = {Types::floats},
    .kind = OpKind::reduction,
    .traits = {.reads = Reads::row, .narrow = Narrow::links, .magnitude = Magnitude::bounded},
    .infer = infer_lp_norm,
    .lower = lower_lp_norm,
    .reference = reference_lp_norm};
const OpDef op_MeanVarianceNormalization = {
    .name = "MeanVarianceNormalization",
    .since = 9,
    .min_inputs = 1,
    .max_inputs = 1,
    .types = {Types::floats},
    .kind = OpKind::reduction,
    .traits = {.reads = Reads::row, .narrow = Narrow::links, .magnitude = Magnitude::bounded},
    .infer = infer_mvn,
    .lower = lower_mvn,
    .reference = reference_mvn};

}  // namespace gcg
