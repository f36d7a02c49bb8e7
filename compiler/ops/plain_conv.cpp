// gart.PlainConv: ONNX Conv with a weight layout in which the channels that a tap reads are adjacent.
//   x  [N, CI, spatial...]
//   w  [CO, kernel..., CI / group], or [1, kernel..., CO] with attribute depthwise=1: one input channel per group
//   b  [CO], optional
//   y  [N, CO, spatial...]
// Attributes are those of Conv.
#include "compiler/ops/ops.h"
#include "compiler/ops/sliding_window.h"

namespace gcg {
namespace {

bool is_depthwise(const Node& node) { return node.int_attribute("depthwise", 0) != 0; }

Shape kernel_of(const Shape& weights) { return Shape(weights.begin() + 1, weights.end() - 1); }

void infer_plain_conv(InferContext& ctx) {
  const Shape &x = ctx.shape(0), &w = ctx.shape(1);
  if (x.size() < 3 || w.size() != x.size()) ctx.fail("input and weights must have the same rank, at least 3");
  const bool depthwise = is_depthwise(ctx.node());
  const int64_t group = ctx.node().int_attribute("group", 1);
  ctx.require_equal(x[1], depthwise ? Dim(group) : w.back() * Dim(group), "the channels of input and weights");
  ctx.set_output(0, ctx.dtype(0),
                 windowed_shape(x[0], depthwise ? w.back() : w[0], window_of(ctx.node(), x, kernel_of(w))));
}

Expr lower_plain_conv(LowerContext& ctx, int, const std::vector<Expr>& at) {
  const Shape& w = ctx.input_shape(1);
  const int64_t group = ctx.node().int_attribute("group", 1);
  const Window window = window_of(ctx.node(), ctx.input_shape(0), kernel_of(w));
  const Taps taps = taps_of(ctx, window, std::span(at).subspan(2));
  const bool depthwise = is_depthwise(ctx.node());
  const Dim outputs = depthwise ? w.back() : w[0], depth = depthwise ? Dim(1) : w.back();
  const Axis ci = ctx.fresh_axis(depth);
  Expr channel = axis_ref(ci);
  if (group > 1)
    channel = binary(BinaryOp::floor_div, at[1], extent(floor_div(outputs, group))) * extent(depth) + channel;
  std::vector<Expr> x_index = {at[0], channel}, w_index = {depthwise ? axis_ref(ci) : at[1]};
  x_index.insert(x_index.end(), taps.position.begin(), taps.position.end());
  for (const Axis& tap : taps.axes) w_index.push_back(axis_ref(tap));
  w_index.push_back(depthwise ? at[1] : axis_ref(ci));
  Expr term = arithmetic_input(ctx, 0, x_index) * arithmetic_input(ctx, 1, w_index);
  if (taps.inside) term = select(taps.inside, term, number(term->dtype, 0));
  std::vector<Axis> axes = taps.axes;
  axes.push_back(ci);
  Expr y = reduce(ReduceOp::sum, axes, term);
  if (ctx.has_input(2)) y = y + arithmetic_input(ctx, 2, {at[1]});
  return as_output(ctx, 0, y);
}

/// The sum over taps and channels for output channel `co` of image `n` at position `at`.
double convolve(const Tensor& x, const Tensor& w, const PlainWindow& window, int64_t n, int64_t co,
                int64_t group_outputs, bool depthwise, const std::vector<int64_t>& at) {
  const int64_t outputs = w.shape().back(), depth = depthwise ? 1 : outputs, taps = element_count(window.kernel),
                area = element_count(window.input);
  const std::vector<int64_t> strides = row_major_strides(window.input);
  const int64_t first = n * x.shape()[1] + co / group_outputs * depth;
  double sum = 0;
  int64_t tap = 0;
  std::vector<int64_t> position;
  for_each_index(window.kernel, [&](const std::vector<int64_t>& k) {
    const int64_t here = depthwise ? tap++ * outputs + co : co * taps + tap++;
    if (!window.read(at, k, position)) return;
    int64_t offset = 0;
    for (size_t d = 0; d < position.size(); ++d) offset += position[d] * strides[d];
    for (int64_t ci = 0; ci < depth; ++ci)
      sum += x.at_double((first + ci) * area + offset) * w.at_double(here * depth + ci);
  });
  return sum;
}

std::vector<Tensor> reference_plain_conv(ReferenceContext& ctx) {
  const Tensor &x = *ctx.input(0), &w = *ctx.input(1);
  const Tensor* bias = ctx.input_count() > 2 ? ctx.input(2) : nullptr;
  const std::vector<int64_t> kernel(w.shape().begin() + 1, w.shape().end() - 1);
  const PlainWindow window = plain_window(ctx.node(), x.shape(), kernel);
  const bool depthwise = is_depthwise(ctx.node());
  const int64_t outputs = depthwise ? w.shape().back() : w.shape()[0],
                group_outputs = outputs / ctx.node().int_attribute("group", 1);
  std::vector<int64_t> shape = {x.shape()[0], outputs};
  shape.insert(shape.end(), window.output.begin(), window.output.end());
  Tensor y(x.dtype(), shape);
  int64_t o = 0;
  for (int64_t plane = 0; plane < shape[0] * outputs; ++plane) {
    const int64_t n = plane / outputs, co = plane % outputs;
    for_each_index(window.output, [&](const std::vector<int64_t>& at) {
      y.set_double(o++, (bias ? bias->at_double(co) : 0) + convolve(x, w, window, n, co, group_outputs, depthwise, at));
    });
  }
  return {y};
}

}  // namespace

const OpDef op_gart_PlainConv = {.name = "PlainConv",
                                 .domain = "gart",
                                 .min_inputs = 2,
                                 .max_inputs = 3,
                                 .kind = OpKind::contraction,
                                 .infer = infer_plain_conv,
                                 .lower = lower_plain_conv,
                                 .reference = reference_plain_conv};

}  // namespace gcg
