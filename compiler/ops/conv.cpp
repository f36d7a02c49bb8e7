// Conv: any number of spatial dimensions, groups, dilations and auto_pad.
#include <algorithm>

#include "compiler/ops/ops.h"
#include "compiler/ops/sliding_window.h"
#include "compiler/ops/stated_kernel.h"

namespace gcg {
namespace {

/// The kernel extents of w[CO, C / group, kernel...]; the attribute kernel_shape only repeats them.
Shape kernel_of(const Shape& weights) { return Shape(weights.begin() + 2, weights.end()); }

void infer_conv(InferContext& ctx) {
  const Shape &x = ctx.shape(0), &w = ctx.shape(1);
  if (x.size() < 3) ctx.fail("the input must have at least one spatial dimension");
  if (w.size() != x.size()) ctx.fail("the weights must have the rank of the input");
  const int64_t group = ctx.node().int_attribute("group", 1);
  if (group < 1) ctx.fail(concat("group is ", group, ", it must be at least 1"));
  ctx.require_equal(x[1], w[1] * group, "the channels of input and weights");
  if (w[0].is_constant() && w[0].constant() % group != 0) {
    ctx.fail(concat(w[0].str(), " output channels cannot be divided into ", group, " groups"));
  }
  const Shape kernel = kernel_of(w);
  require_stated_kernel(ctx, kernel);
  if (ctx.has_input(2))
    ctx.require_equal(ctx.shape(2).size() == 1 ? ctx.shape(2)[0] : Dim(-1), w[0], "bias and output channels");
  const Window window = window_of(ctx.node(), x, kernel);
  require_fit(ctx, window);
  ctx.set_output(0, ctx.dtype(0), windowed_shape(x[0], w[0], window));
}

Expr lower_conv(LowerContext& ctx, int, const std::vector<Expr>& at) {
  const Shape& w = ctx.input_shape(1);
  const int64_t group = ctx.node().int_attribute("group", 1);
  const Window window = window_of(ctx.node(), ctx.input_shape(0), kernel_of(w));
  const Taps taps = taps_of(ctx, window, std::span(at).subspan(2));
  const Axis ci = ctx.fresh_axis(w[1]);
  Expr channel = axis_ref(ci);
  if (group > 1) channel = binary(BinaryOp::floor_div, at[1], extent(floor_div(w[0], group))) * extent(w[1]) + channel;
  std::vector<Expr> x_index = {at[0], channel}, w_index = {at[1], axis_ref(ci)};
  x_index.insert(x_index.end(), taps.position.begin(), taps.position.end());
  for (const Axis& tap : taps.axes) w_index.push_back(axis_ref(tap));
  Expr term = arithmetic_input(ctx, 0, x_index) * arithmetic_input(ctx, 1, w_index);
  if (taps.inside) term = select(taps.inside, term, number(term->dtype, 0));
  std::vector<Axis> axes = taps.axes;
  axes.insert(axes.begin(), ci);
  Expr y = reduce(ReduceOp::sum, axes, term);
  if (ctx.has_input(2)) y = y + arithmetic_input(ctx, 2, {at[1]});
  return as_output(ctx, 0, y);
}

std::vector<Tensor> reference_conv(ReferenceContext& ctx) {
  const Tensor &x = *ctx.input(0), &w = *ctx.input(1);
  const Tensor* bias = ctx.input_count() > 2 ? ctx.input(2) : nullptr;
  const std::vector<int64_t> kernel(w.shape().begin() + 2, w.shape().end());
  const PlainWindow window = plain_window(ctx.node(), x.shape(), kernel);
  const int64_t batch = x.shape()[0], channels = x.shape()[1], outputs = w.shape()[0], depth = w.shape()[1];
  const int64_t group_outputs = outputs / ctx.node().int_attribute("group", 1);
  const int64_t area = element_count(window.input), taps = element_count(kernel);
  const std::vector<int64_t> strides = row_major_strides(window.input);
  std::vector<int64_t> shape = {batch, outputs};
  shape.insert(shape.end(), window.output.begin(), window.output.end());
  Tensor y(x.dtype(), shape);
  int64_t o = 0;
  for (int64_t plane = 0; plane < batch * outputs; ++plane) {
    const int64_t n = plane / outputs, co = plane % outputs;
    for_each_index(window.output, [&](const std::vector<int64_t>& at) {
      double sum = bias ? bias->at_double(co) : 0;
      int64_t tap = 0;
      std::vector<int64_t> position;
      for_each_index(kernel, [&](const std::vector<int64_t>& k) {
        const int64_t here = tap++;
        if (!window.read(at, k, position)) return;
        int64_t offset = 0;
        for (size_t d = 0; d < position.size(); ++d) offset += position[d] * strides[d];
        for (int64_t ci = 0; ci < depth; ++ci) {
          const int64_t channel = co / group_outputs * depth + ci;
          sum += x.at_double((n * channels + channel) * area + offset) * w.at_double((co * depth + ci) * taps + here);
        }
      });
      y.set_double(o++, sum);
    });
  }
  return {y};
}

}  // namespace

const OpDef op_Conv = {.name = "Conv",
                       .since = 1,
                       .min_inputs = 2,
                       .max_inputs = 3,
                       .types = {Types::numbers, Types::as_first},
                       .kind = OpKind::contraction,
                       .traits = {.keeps_channels = true},
                       .infer = infer_conv,
                       .lower = lower_conv,
                       .reference = reference_conv};

}  // namespace gcg
