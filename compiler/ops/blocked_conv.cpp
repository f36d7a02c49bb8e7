// gart.BlockedConv: a 2-D convolution of channel-blocked activations with packed weights; no bias.
//   x   [N, ceil(CI/16), H, W, 16], with `plain` [N, CI, H, W]; lanes past CI are never read, except by the same lanes
//   of a
//       depthwise result
//   wp  what gart.PackConv makes with the same `depthwise` and `plain`
//   y   [N, ceil(CO/16), OH, OW, 16]; lanes past CO hold anything
// x and wp may be u8 and i8 where neither flag is set; y is then i32.
#include "compiler/ops/ops.h"
#include "compiler/ops/packing.h"
#include "compiler/ops/sliding_window.h"

namespace gcg {
namespace {

struct ConvForm {
  int64_t inputs, outputs;
  bool depthwise, plain;
};
ConvForm conv_form(const Node& node) {
  return {node.int_attribute("in_channels", 0), node.int_attribute("out_channels", 0),
          node.int_attribute("depthwise", 0) != 0, node.int_attribute("plain", 0) != 0};
}

Window window_of_blocked(const Node& node, const Shape& x) {
  return window_of(node, {x[0], x[1], x[2], x[3]}, to_shape(node.ints_attribute("kernel_shape")));
}

ConvPacking packing_of(const ConvForm& form, DType weights) { return {form.depthwise, form.plain, weights == DType::i8}; }

Shape weights_shape(const ConvForm& form, DType weights, const Window& window) {
  return packing_of(form, weights).shape(form.outputs, form.inputs, window[0].kernel, window[1].kernel);
}

void infer_blocked_conv(InferContext& ctx) {
  const ConvForm form = conv_form(ctx.node());
  if (ctx.rank(0) != (form.plain ? 4 : 5)) ctx.fail("the input is not in the layout that `plain` says");
  const Shape& x = ctx.shape(0);
  ctx.require_equal(x[1], form.plain ? form.inputs : blocks_of(form.inputs, kChannelBlock), "the input channels");
  const Window window = window_of_blocked(ctx.node(), x);
  if (ctx.shape(1) != weights_shape(form, ctx.dtype(1), window)) ctx.fail("the packed weights do not match the attributes");
  const Dim blocks = blocks_of(form.outputs, kChannelBlock);
  ctx.set_output(0, sum_type(ctx.dtype(1)), {x[0], blocks, window[0].output, window[1].output, kChannelBlock});
}

Expr lower_blocked_conv(LowerContext& ctx, int, const std::vector<Expr>& at) {
  const ConvForm form = conv_form(ctx.node());
  const Window window = window_of_blocked(ctx.node(), ctx.input_shape(0));
  const Taps taps = taps_of(ctx, window, std::span(at).subspan(2, 2));
  const Expr kh = axis_ref(taps.axes[0]), kw = axis_ref(taps.axes[1]), h = taps.position[0], w = taps.position[1];
  const Expr block = index(kChannelBlock), weight_block = index(kWeightBlock);
  std::vector<Axis> axes = taps.axes;
  Expr term;
  if (form.depthwise) {
    term = ctx.input(0, {at[0], at[1], h, w, at[4]}) * ctx.input(1, {at[1], kh, kw, at[4]});
  } else {
    axes.insert(axes.begin(), ctx.fresh_axis(form.inputs));
    const Expr ci = axis_ref(axes[0]), co = at[1] * block + at[4];
    const Expr ci_block = binary(BinaryOp::floor_div, ci, block), ci_lane = binary(BinaryOp::mod, ci, block);
    const Expr co_block = binary(BinaryOp::floor_div, co, weight_block),
               co_lane = binary(BinaryOp::mod, co, weight_block);
    const DType type = ctx.input_value(1).dtype;
    if (form.plain) {
      term = ctx.input(0, {at[0], ci, h, w}) * ctx.input(1, {co_block, ci, kh, kw, co_lane});
    } else if (type == DType::i8) {
      const Expr quad = binary(BinaryOp::floor_div, ci_lane, index(kQuad)), place = binary(BinaryOp::mod, ci_lane, index(kQuad));
      term = cast(DType::i32, ctx.input(0, {at[0], ci_block, h, w, ci_lane})) *
             cast(DType::i32, ctx.input(1, {co_block, ci_block, kh, kw, quad, co_lane, place}));
    } else {
      term = ctx.input(0, {at[0], ci_block, h, w, ci_lane}) * ctx.input(1, {co_block, ci_block, kh, kw, ci_lane, co_lane});
    }
  }
  if (taps.inside) term = select(taps.inside, term, number(term->dtype, 0));
  return reduce(ReduceOp::sum, axes, term);
}

/// Element offsets of x and wp for input channel `ci`, output channel `co`.
struct Layout {
  ConvForm form;
  ConvPacking packing;
  int64_t height, width, taps, input_blocks;

  int64_t input(int64_t n, int64_t ci, int64_t h, int64_t w) const {
    if (form.plain) return ((n * form.inputs + ci) * height + h) * width + w;
    return (((n * input_blocks + ci / kChannelBlock) * height + h) * width + w) * kChannelBlock + ci % kChannelBlock;
  }
  int64_t weight(int64_t co, int64_t ci, int64_t tap) const {
    return packing.place(co, ci, tap, form.inputs, taps);
  }
};

double convolve(const Tensor& x, const Tensor& wp, const Layout& layout, const PlainWindow& window, int64_t n,
                int64_t co, const std::vector<int64_t>& at) {
  const int64_t first = layout.form.depthwise ? co : 0, count = layout.form.depthwise ? 1 : layout.form.inputs;
  double sum = 0;
  int64_t tap = 0;
  std::vector<int64_t> p;
  for_each_index(window.kernel, [&](const std::vector<int64_t>& k) {
    const int64_t here = tap++;
    if (!window.read(at, k, p)) return;
    for (int64_t ci = first; ci < first + count; ++ci) {
      sum += x.at_double(layout.input(n, ci, p[0], p[1])) * wp.at_double(layout.weight(co, ci, here));
    }
  });
  return sum;
}

std::vector<Tensor> reference_blocked_conv(ReferenceContext& ctx) {
  const Tensor &x = *ctx.input(0), &wp = *ctx.input(1);
  const ConvForm form = conv_form(ctx.node());
  const std::vector<int64_t> plane(x.shape().begin(), x.shape().begin() + 4);
  const PlainWindow window = plain_window(ctx.node(), plane, ctx.node().ints_attribute("kernel_shape"));
  const Layout layout{form,     packing_of(form, wp.dtype()),  plane[2],
                      plane[3], element_count(window.kernel), blocks_of(form.inputs, kChannelBlock)};
  const int64_t blocks = blocks_of(form.outputs, kChannelBlock);
  Tensor y(sum_type(wp.dtype()), {plane[0], blocks, window.output[0], window.output[1], kChannelBlock});
  int64_t o = 0;
  for_each_index(y.shape(), [&](const std::vector<int64_t>& at) {
    const int64_t co = at[1] * kChannelBlock + at[4], here = o++;
    if (co < form.outputs) y.set_double(here, convolve(x, wp, layout, window, at[0], co, {at[2], at[3]}));
  });
  return {y};
}

}  // namespace

const OpDef op_gart_BlockedConv = {.name = "BlockedConv", .domain = "gart", .min_inputs = 2, .max_inputs = 2,
                                   .kind = OpKind::contraction, .infer = infer_blocked_conv,
                                   .lower = lower_blocked_conv, .reference = reference_blocked_conv};

}  // namespace gcg
