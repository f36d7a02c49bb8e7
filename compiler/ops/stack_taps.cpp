// gart.StackTaps: the taps of a window along the last axis as channels, so that a convolution reads them as neighbours.
//   x  [N, C, spatial..., W]
//   y  [N, channels, spatial..., V];  y[n, tap * C + c, ..., v] = x[n, c, ..., v * stride - pad + tap * dilation]
// Taps outside the input and channels from kernel * C on are zero. V is the number of positions of the window.
// Attributes: kernel and channels; strides, dilations and pads of the last axis, as in Conv.
#include "compiler/ops/index.h"
#include "compiler/ops/movement.h"
#include "compiler/ops/ops.h"
#include "compiler/ops/pointwise.h"
#include "compiler/ops/sliding_window.h"

namespace gcg {
namespace {

int64_t kernel_of(const Node& node) { return node.int_attribute("kernel", 1); }

WindowDim window_along_last(const Node& node, const Shape& x) {
  return window_of(node, {x[0], x[1], x.back()}, {Dim(kernel_of(node))})[0];
}

void infer_stack_taps(InferContext& ctx) {
  Shape shape = ctx.shape(0);
  if (shape.size() < 3) ctx.fail("the input must have at least 3 dimensions");
  const Dim channels(ctx.node().int_attribute("channels", 0)), used = shape[1] * Dim(kernel_of(ctx.node()));
  if (const auto rest = (channels - used).lower_bound(); !rest || *rest < 0)
    ctx.fail(concat("channels is ", channels.str(), ", the taps have ", used.str()));
  const WindowDim window = window_along_last(ctx.node(), shape);
  require_fit(ctx, {window});
  shape[1] = channels;
  shape.back() = window.output;
  ctx.set_output(0, ctx.dtype(0), std::move(shape));
}

Expr lower_stack_taps(LowerContext& ctx, int, const std::vector<Expr>& at) {
  const Shape& x = ctx.input_shape(0);
  const WindowDim window = window_along_last(ctx.node(), x);
  const Expr channels = extent(x[1]), tap = binary(BinaryOp::floor_div, at[1], channels);
  Index from = at;
  from[1] = binary(BinaryOp::mod, at[1], channels);
  from.back() = at.back() * index(window.stride) - extent(window.pad_begin) + tap * index(window.dilation);
  const Expr inside = both(both(binary(BinaryOp::greater_equal, from.back(), index(0)),
                                binary(BinaryOp::less, from.back(), extent(x.back()))),
                           binary(BinaryOp::less, tap, extent(window.kernel)));
  return select(inside, guarded(ctx.input(0, from)), number(ctx.output_value(0).dtype, 0));
}

std::vector<Tensor> reference_stack_taps(ReferenceContext& ctx) {
  const Tensor& x = *ctx.input(0);
  const PlainWindow window = plain_window({window_along_last(ctx.node(), Shape(x.shape().begin(), x.shape().end()))});
  std::vector<int64_t> shape = x.shape();
  shape[1] = ctx.node().int_attribute("channels", 0);
  shape.back() = window.output[0];
  Tensor y(x.dtype(), shape);
  int64_t to = -1;
  for_each_index(shape, [&](std::vector<int64_t> at) {
    ++to;
    const int64_t tap = at[1] / x.shape()[1];
    std::vector<int64_t> here;
    if (tap >= window.kernel[0] || !window.read({at.back()}, {tap}, here)) return;
    at[1] %= x.shape()[1];
    at.back() = here[0];
    copy_element(y, to, x, position(at, x.shape()));
  });
  return {std::move(y)};
}

}  // namespace

const OpDef op_gart_StackTaps = {.name = "StackTaps",
                                 .domain = "gart",
                                 .min_inputs = 1,
                                 .max_inputs = 1,
                                 .kind = OpKind::movement,
                                 .infer = infer_stack_taps,
                                 .lower = lower_stack_taps,
                                 .reference = reference_stack_taps};

}  // namespace gcg
