// CausalConvWithState: a depthwise convolution along the last axis that reads only the past. The K - 1 elements before
// the first one come from a state, or are zeros without one. The last K - 1 elements are the next state.
#include <cmath>

#include "compiler/ops/index.h"
#include "compiler/ops/movement.h"
#include "compiler/ops/ops.h"
#include "compiler/ops/pointwise.h"

namespace gcg {
namespace {

enum : int { kX, kWeight, kBias, kPast };

bool is_gated(const Node& node) { return node.string_attribute("activation", "none") != "none"; }

void infer_causal_conv(InferContext& ctx) {
  const std::string activation = ctx.node().string_attribute("activation", "none");
  if (activation != "none" && activation != "silu" && activation != "swish")
    ctx.fail(concat("attribute activation is '", activation, "', it must be 'none', 'silu' or 'swish'"));
  if (ctx.rank(kX) != 3 || ctx.rank(kWeight) != 3) ctx.fail("input and weight must have 3 dimensions");
  const Shape &x = ctx.shape(kX), &w = ctx.shape(kWeight);
  ctx.require_equal(w[0], x[1], "the channels of input and weight");
  ctx.require_equal(w[1], 1, "weight is depthwise");
  if (ctx.has_input(kBias)) ctx.require_equal(product(ctx.shape(kBias)), x[1], "bias and channels");
  const Shape state = {x[0], x[1], w[2] - 1};
  if (ctx.has_input(kPast)) {
    if (ctx.rank(kPast) != 3) ctx.fail("past_state must have 3 dimensions");
    for (size_t d = 0; d < 3; ++d)
      ctx.require_equal(ctx.shape(kPast)[d], state[d], concat("past_state at dimension ", d));
  }
  ctx.set_output(0, ctx.dtype(kX), x);
  ctx.set_output(1, ctx.dtype(kX), state);
}

/// Element `i` of the state and the input, concatenated.
Expr padded(LowerContext& ctx, const Expr& batch, const Expr& channel, const Expr& i) {
  const Dim before = ctx.input_shape(kWeight)[2] - 1;
  const Expr x = guarded(arithmetic_input(ctx, kX, {batch, channel, i - extent(before)}));
  if (before.is(0)) return x;
  const Expr past =
      ctx.has_input(kPast) ? guarded(arithmetic_input(ctx, kPast, {batch, channel, i})) : number(x->dtype, 0);
  return select(binary(BinaryOp::less, i, extent(before)), past, x);
}

Expr lower_causal_conv(LowerContext& ctx, int output, const std::vector<Expr>& at) {
  if (output == 1) return as_output(ctx, output, padded(ctx, at[0], at[1], at[2] + extent(ctx.input_shape(kX)[2])));
  const Axis k = ctx.fresh_axis(ctx.input_shape(kWeight)[2]);
  const Expr weight = arithmetic_input(ctx, kWeight, {at[1], index(0), axis_ref(k)});
  Expr y = reduce(ReduceOp::sum, {k}, weight * padded(ctx, at[0], at[1], at[2] + axis_ref(k)));
  if (ctx.has_input(kBias)) y = y + arithmetic_input(ctx, kBias, {at[1]});
  if (is_gated(ctx.node())) y = y * unary(UnaryOp::sigmoid, y);
  return as_output(ctx, output, y);
}

std::vector<Tensor> reference_causal_conv(ReferenceContext& ctx) {
  const Tensor &x = *ctx.input(kX), &w = *ctx.input(kWeight);
  const Tensor *bias = ctx.input_count() > kBias ? ctx.input(kBias) : nullptr,
               *past = ctx.input_count() > kPast ? ctx.input(kPast) : nullptr;
  const int64_t channels = x.shape()[1], length = x.shape()[2], before = w.shape()[2] - 1;
  Tensor y(x.dtype(), x.shape()), state(x.dtype(), {x.shape()[0], channels, before});
  for (int64_t row = 0; row < x.shape()[0] * channels; ++row) {
    std::vector<double> line;
    for (int64_t i = 0; i < before; ++i) line.push_back(past ? past->at_double(row * before + i) : 0);
    for (int64_t i = 0; i < length; ++i) line.push_back(x.at_double(row * length + i));
    for (int64_t i = 0; i < length; ++i) {
      double sum = bias ? bias->at_double(row % channels) : 0;
      for (int64_t k = 0; k <= before; ++k)
        sum += w.at_double(row % channels * (before + 1) + k) * line[static_cast<size_t>(i + k)];
      y.set_double(row * length + i, is_gated(ctx.node()) ? sum / (1 + std::exp(-sum)) : sum);
    }
    for (int64_t i = 0; i < before; ++i) state.set_double(row * before + i, line[static_cast<size_t>(length + i)]);
  }
  std::vector<Tensor> outputs = {std::move(y), std::move(state)};
  outputs.resize(static_cast<size_t>(ctx.output_count()));
  return outputs;
}

}  // namespace

constinit const OpDef op_CausalConvWithState{.name = "CausalConvWithState",
                                             .since = 27,
                                             .min_inputs = 2,
                                             .max_inputs = 4,
                                             .max_outputs = 2,
                                             .types = {Types::floats, Types::as_first},
                                             .kind = OpKind::reduction,
                                             .infer = infer_causal_conv,
                                             .lower = lower_causal_conv,
                                             .reference = reference_causal_conv};

}  // namespace gcg
