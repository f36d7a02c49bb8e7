// ConvInteger: the convolution of (x - x_zero_point) with (w - w_zero_point), where 8-bit integers are summed in i32.
// Padding has the value x_zero_point. w's zero point is one number or one per output channel.
#include "compiler/ops/ops.h"
#include "compiler/ops/sliding_window.h"
#include "compiler/ops/stated_kernel.h"

namespace gcg {
namespace {

Shape kernel_of(const Shape& weights) { return Shape(weights.begin() + 2, weights.end()); }

void check_zero_point(InferContext& ctx, int i, const Dim& channels) {
  if (!ctx.has_input(i)) return;
  if (ctx.rank(i) > 1) ctx.fail("a zero point must have at most one dimension");
  if (ctx.rank(i) == 1 && !ctx.shape(i)[0].is(1)) ctx.require_equal(ctx.shape(i)[0], channels, "zero points");
}

void infer_conv_integer(InferContext& ctx) {
  const Shape &x = ctx.shape(0), &w = ctx.shape(1);
  if (x.size() < 3) ctx.fail("the input must have at least one spatial dimension");
  if (w.size() != x.size()) ctx.fail("the weights must have the rank of the input");
  const int64_t group = ctx.node().int_attribute("group", 1);
  if (group < 1) ctx.fail(concat("group is ", group, ", it must be at least 1"));
  ctx.require_equal(x[1], w[1] * group, "the channels of input and weights");
  require_stated_kernel(ctx, kernel_of(w));
  check_zero_point(ctx, 2, 1);
  check_zero_point(ctx, 3, w[0]);
  ctx.set_output(0, DType::i32, windowed_shape(x[0], w[0], window_of(ctx.node(), x, kernel_of(w))));
}

Expr centred(LowerContext& ctx, int i, const std::vector<Expr>& at, const Expr& channel) {
  const Expr value = cast(DType::i32, ctx.input(i, at));
  if (!ctx.has_input(i + 2)) return value;
  const Shape& zero = ctx.input_shape(i + 2);
  std::vector<Expr> where;
  if (zero.size() == 1) where.push_back(zero[0].is(1) ? index(0) : channel);
  return value - cast(DType::i32, ctx.input(i + 2, where));
}

Expr lower_conv_integer(LowerContext& ctx, int, const std::vector<Expr>& at) {
  const Shape& w = ctx.input_shape(1);
  const int64_t group = ctx.node().int_attribute("group", 1);
  const Taps taps = taps_of(ctx, window_of(ctx.node(), ctx.input_shape(0), kernel_of(w)), std::span(at).subspan(2));
  const Axis ci = ctx.fresh_axis(w[1]);
  Expr channel = axis_ref(ci);
  if (group > 1) channel = binary(BinaryOp::floor_div, at[1], extent(floor_div(w[0], group))) * extent(w[1]) + channel;
  std::vector<Expr> x_index = {at[0], channel}, w_index = {at[1], axis_ref(ci)};
  x_index.insert(x_index.end(), taps.position.begin(), taps.position.end());
  for (const Axis& tap : taps.axes) w_index.push_back(axis_ref(tap));
  Expr term = centred(ctx, 0, x_index, at[1]) * centred(ctx, 1, w_index, at[1]);
  if (taps.inside) term = select(taps.inside, term, constant_int(DType::i32, 0));
  std::vector<Axis> axes = taps.axes;
  axes.insert(axes.begin(), ci);
  return reduce(ReduceOp::sum, axes, term);
}

int64_t zero_point(const Tensor* zero, int64_t channel) {
  if (!zero) return 0;
  return zero->at_int(zero->elements() == 1 ? 0 : channel);
}

std::vector<Tensor> reference_conv_integer(ReferenceContext& ctx) {
  const Tensor &x = *ctx.input(0), &w = *ctx.input(1);
  const Tensor* x_zero = ctx.input_count() > 2 ? ctx.input(2) : nullptr;
  const Tensor* w_zero = ctx.input_count() > 3 ? ctx.input(3) : nullptr;
  const std::vector<int64_t> kernel(w.shape().begin() + 2, w.shape().end());
  const PlainWindow window = plain_window(ctx.node(), x.shape(), kernel);
  const int64_t channels = x.shape()[1], outputs = w.shape()[0], depth = w.shape()[1];
  const int64_t group_outputs = outputs / ctx.node().int_attribute("group", 1);
  const int64_t area = element_count(window.input), taps = element_count(kernel);
  const std::vector<int64_t> strides = row_major_strides(window.input);
  std::vector<int64_t> shape = {x.shape()[0], outputs};
  shape.insert(shape.end(), window.output.begin(), window.output.end());
  Tensor y(DType::i32, shape);
  int64_t o = 0;
  for_each_index(shape, [&](const std::vector<int64_t>& at) {
    const int64_t n = at[0], co = at[1];
    int64_t sum = 0, tap = 0;
    std::vector<int64_t> position;
    for_each_index(kernel, [&](const std::vector<int64_t>& k) {
      const int64_t here = tap++;
      if (!window.read({at.begin() + 2, at.end()}, k, position)) return;
      int64_t offset = 0;
      for (size_t d = 0; d < position.size(); ++d) offset += position[d] * strides[d];
      for (int64_t ci = 0; ci < depth; ++ci) {
        const int64_t channel = co / group_outputs * depth + ci;
        const int64_t left = x.at_int((n * channels + channel) * area + offset) - zero_point(x_zero, 0);
        sum += left * (w.at_int((co * depth + ci) * taps + here) - zero_point(w_zero, co));
      }
    });
    y.set_int(o++, sum);
  });
  return {y};
}

}  // namespace

const OpDef op_ConvInteger = {.name = "ConvInteger",
                              .since = 10,
                              .min_inputs = 2,
                              .max_inputs = 4,
                              .types = {Types::bytes, Types::bytes, Types::as_first, Types::as_second},
                              .results = {Types::i32},
                              .kind = OpKind::contraction,
                              .infer = infer_conv_integer,
                              .lower = lower_conv_integer,
                              .reference = reference_conv_integer};

}  // namespace gcg
