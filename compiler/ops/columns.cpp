// gart.Columns: the elements that each tap of a window reads (im2col). The gradient with respect to a convolution's
// weights is the product of the output's gradient and these columns.
//   x  [N, C, spatial...]
//   y  [C, kernel..., N, output...];  y[c, k..., n, o...] = x[n, c, o * stride - pad + k * dilation]
// Taps outside the input are zero. Attributes: kernel_shape; strides, dilations and pads as in Conv.
#include "compiler/ops/index.h"
#include "compiler/ops/movement.h"
#include "compiler/ops/ops.h"
#include "compiler/ops/pointwise.h"
#include "compiler/ops/sliding_window.h"

namespace gcg {
namespace {

Window window_of_columns(const Node& node, const Shape& x) {
  return window_of(node, x, to_shape(node.ints_attribute("kernel_shape")));
}

void infer_columns(InferContext& ctx) {
  const Shape& x = ctx.shape(0);
  if (x.size() < 3 || x.size() - 2 != ctx.node().ints_attribute("kernel_shape").size())
    ctx.fail("kernel_shape must have one extent per spatial dimension");
  const Window window = window_of_columns(ctx.node(), x);
  require_fit(ctx, window);
  Shape y = {x[1]};
  for (const WindowDim& w : window) y.push_back(w.kernel);
  y.push_back(x[0]);
  for (const WindowDim& w : window) y.push_back(w.output);
  ctx.set_output(0, ctx.dtype(0), std::move(y));
}

Expr lower_columns(LowerContext& ctx, int, const std::vector<Expr>& at) {
  const Shape& x = ctx.input_shape(0);
  const Window window = window_of_columns(ctx.node(), x);
  Index from = {at[window.size() + 1], at[0]};
  Expr inside;
  for (size_t d = 0; d < window.size(); ++d) {
    const WindowDim& w = window[d];
    from.push_back(at[window.size() + 2 + d] * index(w.stride) - extent(w.pad_begin) + at[1 + d] * index(w.dilation));
    if (!w.pad_begin.is(0)) inside = both(inside, binary(BinaryOp::greater_equal, from.back(), index(0)));
    if (!w.pad_end.is(0)) inside = both(inside, binary(BinaryOp::less, from.back(), extent(w.input)));
  }
  if (!inside) return ctx.input(0, from);
  return select(inside, guarded(ctx.input(0, from)), number(ctx.output_value(0).dtype, 0));
}

std::vector<Tensor> reference_columns(ReferenceContext& ctx) {
  const Tensor& x = *ctx.input(0);
  const PlainWindow window = plain_window(ctx.node(), x.shape(), ctx.node().ints_attribute("kernel_shape"));
  const auto rank = static_cast<int64_t>(window.kernel.size());
  std::vector<int64_t> shape = {x.shape()[1]};
  shape.insert(shape.end(), window.kernel.begin(), window.kernel.end());
  shape.push_back(x.shape()[0]);
  shape.insert(shape.end(), window.output.begin(), window.output.end());
  Tensor y(x.dtype(), shape);
  int64_t to = -1;
  for_each_index(shape, [&](const std::vector<int64_t>& at) {
    ++to;
    const auto taps = at.begin() + 1, image = taps + rank;
    std::vector<int64_t> here;
    if (!window.read({image + 1, at.end()}, {taps, image}, here)) return;
    here.insert(here.begin(), {*image, at[0]});
    copy_element(y, to, x, position(here, x.shape()));
  });
  return {std::move(y)};
}

}  // namespace

const OpDef op_gart_Columns = {.name = "Columns",
                               .domain = "gart",
                               .min_inputs = 1,
                               .max_inputs = 1,
                               .kind = OpKind::movement,
                               .infer = infer_columns,
                               .lower = lower_columns,
                               .reference = reference_columns};

}  // namespace gcg
