// BatchNormalization (inference; for training mode see training_batch_norm.cpp), InstanceNormalization,
// GroupNormalization, LRN: x[N, C, spatial...] with one weight per channel, or statistics over neighbouring channels.
#include <cmath>

#include "compiler/ops/expansion.h"
#include "compiler/ops/op_support.h"
#include "compiler/ops/ops.h"

namespace gcg {
namespace {

Dim channels(const Shape& x) { return x.size() > 1 ? x[1] : Dim(1); }
Expr channel_index(const std::vector<Expr>& at) { return at.size() > 1 ? at[1] : index(0); }
int64_t channel_of(const Tensor& x, int64_t i) {
  if (x.rank() < 2) return 0;
  const int64_t inner = row_major_strides(x.shape())[1];
  return i / inner % x.shape()[1];
}

void require_channel_vector(InferContext& ctx, int i) {
  if (ctx.rank(i) != 1) ctx.fail(concat("input ", i, " must have one element per channel"));
  ctx.require_equal(channels(ctx.shape(0)), ctx.shape(i)[0], concat("the channels and input ", i));
}

Expr epsilon_of(const Node& node, DType dtype) { return number(dtype, node.float_attribute("epsilon", 1e-5)); }

// ---- BatchNormalization

void upgrade_batch_norm(UpgradeContext& ctx) {
  if (ctx.version < 7 && ctx.node.int_attribute("is_test", 0) == 0)
    fail_node(ctx.node, "without is_test=1 it normalises by the statistics of the batch, which is for training");
  ctx.node.attributes.erase("is_test");
  if (ctx.version >= 14 && ctx.node.int_attribute("training_mode", 0) != 0)
    ctx.node.op = &op_gart_TrainingBatchNormalization.def;
  ctx.node.attributes.erase("training_mode");
}

void infer_batch_norm(InferContext& ctx) {
  if (ctx.node().int_attribute("training_mode", 0) != 0) ctx.fail("training_mode is not supported here");
  if (ctx.output_count() > 1) ctx.fail("the statistics of the batch are outputs only in training mode");
  if (ctx.node().int_attribute("spatial", 1) == 0 && ctx.rank(0) != 2)
    ctx.fail("spatial=0 (one statistic per element) is not supported");
  for (int i = 1; i < 5; ++i) require_channel_vector(ctx, i);
  ctx.set_output(0, ctx.dtype(0), ctx.shape(0));
}

Expr lower_batch_norm(LowerContext& ctx, int, const std::vector<Expr>& at) {
  const std::vector<Expr> c = {channel_index(at)};
  const Expr x = arithmetic_input(ctx, 0, at), variance = arithmetic_input(ctx, 4, c);
  const Expr inverse = unary(UnaryOp::rsqrt, variance + epsilon_of(ctx.node(), variance->dtype));
  const Expr factor = cast(x->dtype, arithmetic_input(ctx, 1, c)) * cast(x->dtype, inverse);
  const Expr centred = x - cast(x->dtype, arithmetic_input(ctx, 3, c));
  return as_output(ctx, 0, centred * factor + cast(x->dtype, arithmetic_input(ctx, 2, c)));
}

std::vector<Tensor> reference_batch_norm(ReferenceContext& ctx) {
  const Tensor& x = *ctx.input(0);
  const double epsilon = ctx.node().float_attribute("epsilon", 1e-5);
  Tensor y(x.dtype(), x.shape());
  for (int64_t i = 0; i < x.elements(); ++i) {
    const int64_t c = channel_of(x, i);
    const double centred = x.at_double(i) - ctx.input(3)->at_double(c);
    const double deviation = std::sqrt(ctx.input(4)->at_double(c) + epsilon);
    y.set_double(i, centred / deviation * ctx.input(1)->at_double(c) + ctx.input(2)->at_double(c));
  }
  return {y};
}

// ---- GroupNormalization; InstanceNormalization has one channel per group

/// GroupNormalization-18 has one scale and bias per group; newer versions have one per channel.
void upgrade_group_norm(UpgradeContext& ctx) {
  if (ctx.version < 21) ctx.node.attributes["scale_per_group"] = int64_t{1};
}
bool scale_per_group(const Node& node) { return node.int_attribute("scale_per_group", 0) != 0; }

void infer_instance_norm(InferContext& ctx) {
  if (ctx.rank(0) < 2) ctx.fail("the input must have a batch and a channel dimension");
  require_channel_vector(ctx, 1);
  require_channel_vector(ctx, 2);
  ctx.set_output(0, ctx.dtype(0), ctx.shape(0));
}

void infer_group_norm(InferContext& ctx) {
  if (ctx.rank(0) < 2) ctx.fail("the input must have a batch and a channel dimension");
  const int64_t groups = ctx.node().int_attribute("num_groups", 0);
  const Dim c = ctx.shape(0)[1];
  if (groups < 1 || (c.is_constant() && c.constant() % groups != 0)) {
    ctx.fail(concat("num_groups is ", groups, ", it must divide the ", c.str(), " channels"));
  }
  for (int i = 1; i < 3; ++i) {
    if (!scale_per_group(ctx.node()))
      require_channel_vector(ctx, i);
    else if (ctx.rank(i) != 1 || !ctx.shape(i)[0].is(groups))
      ctx.fail(concat("input ", i, " must have one element per group"));
  }
  ctx.set_output(0, ctx.dtype(0), ctx.shape(0));
}

/// x[n, c], normalised over its group's channels and all spatial dimensions, then scaled and shifted.
Expr lower_grouped(LowerContext& ctx, const Dim& group_size, const std::vector<Expr>& at) {
  const Expr size = extent(group_size), group = binary(BinaryOp::floor_div, at[1], size);
  const auto member = [&](std::vector<Axis>& axes) {
    Sweep s = sweep(ctx, ctx.input_shape(0), trailing_axes(static_cast<int64_t>(at.size()), 2), at);
    axes = s.axes;
    if (group_size.is(1)) return arithmetic_input(ctx, 0, s.index);
    axes.insert(axes.begin(), ctx.fresh_axis(group_size));
    s.index[1] = group * size + axis_ref(axes[0]);
    return arithmetic_input(ctx, 0, s.index);
  };
  std::vector<Axis> mean_axes, variance_axes;
  Expr body = member(mean_axes);
  const Expr mean = mean_over(mean_axes, body);
  body = member(variance_axes) - mean;
  const Expr variance = mean_over(variance_axes, body * body);
  const Expr inverse = unary(UnaryOp::rsqrt, variance + epsilon_of(ctx.node(), variance->dtype));
  const Expr x = arithmetic_input(ctx, 0, at), channel = scale_per_group(ctx.node()) ? group : at[1];
  const Expr scale = cast(x->dtype, arithmetic_input(ctx, 1, {channel})),
             bias = cast(x->dtype, arithmetic_input(ctx, 2, {channel}));
  return as_output(ctx, 0, (x - mean) * inverse * scale + bias);
}

Expr lower_instance_norm(LowerContext& ctx, int, const std::vector<Expr>& at) { return lower_grouped(ctx, 1, at); }

Expr lower_group_norm(LowerContext& ctx, int, const std::vector<Expr>& at) {
  return lower_grouped(ctx, floor_div(ctx.input_shape(0)[1], ctx.node().int_attribute("num_groups", 1)), at);
}

std::vector<Tensor> reference_grouped(ReferenceContext& ctx, int64_t groups) {
  const Tensor& x = *ctx.input(0);
  const double epsilon = ctx.node().float_attribute("epsilon", 1e-5);
  const int64_t c = x.shape()[1], group_size = groups == 0 ? 0 : c / groups;
  const int64_t area = x.elements() == 0 ? 0 : x.elements() / (x.shape()[0] * c), row = group_size * area;
  Tensor y(x.dtype(), x.shape());
  for (int64_t start = 0; start < x.elements(); start += row) {
    double mean = 0, variance = 0;
    for (int64_t i = 0; i < row; ++i) mean += x.at_double(start + i) / static_cast<double>(row);
    for (int64_t i = 0; i < row; ++i) variance += std::pow(x.at_double(start + i) - mean, 2) / static_cast<double>(row);
    for (int64_t i = start; i < start + row; ++i) {
      const int64_t weight = scale_per_group(ctx.node()) ? channel_of(x, i) / group_size : channel_of(x, i);
      const double normal = (x.at_double(i) - mean) / std::sqrt(variance + epsilon);
      y.set_double(i, normal * ctx.input(1)->at_double(weight) + ctx.input(2)->at_double(weight));
    }
  }
  return {y};
}

std::vector<Tensor> reference_instance_norm(ReferenceContext& ctx) {
  return reference_grouped(ctx, ctx.input(0)->shape()[1]);
}
std::vector<Tensor> reference_group_norm(ReferenceContext& ctx) {
  return reference_grouped(ctx, ctx.node().int_attribute("num_groups", 1));
}

// ---- LRN: x / (bias + alpha / size * sum of the squares of `size` neighbouring channels)^beta

struct LrnParams {
  int64_t size, before;  // channels in the window, and those before the centre
  double alpha, beta, bias;
};
LrnParams lrn_params(const Node& node) {
  const int64_t size = node.int_attribute("size", 1);
  return {size, (size - 1) / 2, node.float_attribute("alpha", 1e-4), node.float_attribute("beta", 0.75),
          node.float_attribute("bias", 1)};
}

void infer_lrn(InferContext& ctx) {
  if (ctx.rank(0) < 2) ctx.fail("the input must have a batch and a channel dimension");
  if (ctx.node().int_attribute("size", 0) < 1) ctx.fail("size must be at least 1");
  ctx.set_output(0, ctx.dtype(0), ctx.shape(0));
}

Expr lower_lrn(LowerContext& ctx, int, const std::vector<Expr>& at) {
  const LrnParams params = lrn_params(ctx.node());
  const Expr last = extent(ctx.input_shape(0)[1]) - index(1);
  const Axis axis = ctx.fresh_axis(params.size);
  const Expr c = at[1] + axis_ref(axis) - index(params.before);
  const Expr inside = both(binary(BinaryOp::greater_equal, c, index(0)), binary(BinaryOp::less_equal, c, last));
  std::vector<Expr> neighbour = at;
  neighbour[1] = binary(BinaryOp::max, index(0), binary(BinaryOp::min, c, last));
  const Expr n = arithmetic_input(ctx, 0, neighbour), x = arithmetic_input(ctx, 0, at);
  const Expr squares = reduce(ReduceOp::sum, {axis}, select(inside, n * n, number(n->dtype, 0)));
  const Expr base =
      number(x->dtype, params.bias) + number(x->dtype, params.alpha / static_cast<double>(params.size)) * squares;
  return as_output(ctx, 0, binary(BinaryOp::div, x, binary(BinaryOp::pow, base, number(x->dtype, params.beta))));
}

std::vector<Tensor> reference_lrn(ReferenceContext& ctx) {
  const LrnParams params = lrn_params(ctx.node());
  const Tensor& x = *ctx.input(0);
  Tensor y(x.dtype(), x.shape());
  const int64_t inner = row_major_strides(x.shape())[1], channel_count = x.shape()[1];
  for (int64_t i = 0; i < x.elements(); ++i) {
    const int64_t c = channel_of(x, i), first = c - params.before;
    double squares = 0;
    for (int64_t n = std::max<int64_t>(first, 0); n < std::min(first + params.size, channel_count); ++n) {
      squares += std::pow(x.at_double(i + (n - c) * inner), 2);
    }
    const double base = params.bias + params.alpha / static_cast<double>(params.size) * squares;
    y.set_double(i, x.at_double(i) / std::pow(base, params.beta));
  }
  return {y};
}

}  // namespace

const OpDef op_BatchNormalization = {.name = "BatchNormalization",
                                     .since = 1,
                                     .min_inputs = 5,
                                     .max_inputs = 5,
                                     .max_outputs = 3,
                                     .types = {Types::floats},
                                     .results = {Types::as_first, Types::floats},
                                     .kind = OpKind::reduction,
                                     .traits = {.narrow = Narrow::links, .keeps_channels = true},
                                     .upgrade = upgrade_batch_norm,
                                     .infer = infer_batch_norm,
                                     .lower = lower_batch_norm,
                                     .reference = reference_batch_norm};
const OpDef op_InstanceNormalization = {
    .name = "InstanceNormalization",
    .since = 6,
    .min_inputs = 3,
    .max_inputs = 3,
    .types = {Types::floats, Types::as_first},
    .kind = OpKind::reduction,
    .traits = {.reads = Reads::row, .narrow = Narrow::links, .magnitude = Magnitude::bounded},
    .infer = infer_instance_norm,
    .lower = lower_instance_norm,
    .reference = reference_instance_norm};
const OpDef op_GroupNormalization = {
    .name = "GroupNormalization",
    .since = 18,
    .min_inputs = 3,
    .max_inputs = 3,
    .types = {Types::floats},
    .kind = OpKind::reduction,
    .traits = {.reads = Reads::row, .narrow = Narrow::links, .magnitude = Magnitude::bounded},
    .upgrade = upgrade_group_norm,
    .infer = infer_group_norm,
    .lower = lower_group_norm,
    .reference = reference_group_norm};
const OpDef op_LRN = {.name = "LRN",
                      .since = 1,
                      .min_inputs = 1,
                      .max_inputs = 1,
                      .types = {Types::floats},
                      .kind = OpKind::reduction,
                      .traits = {.reads = Reads::window, .narrow = Narrow::links, .keeps_channels = true},
                      .infer = infer_lrn,
                      .lower = lower_lrn,
                      .reference = reference_lrn};

}  // namespace gcg
