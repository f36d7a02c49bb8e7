// gart.BlockedConv: a 2-D or 3-D convolution of channel-blocked activations with packed weights; no bias.
//   x   [N, ceil(CI/16), spatial..., 16]; with `plain` it is [N, CI, spatial...]. Lanes past CI are never read, except
//       with narrow groups, where only the same lanes of the result depend on them.
//   wp  the result of gart.PackConv with the same `group` and `plain`
//   y   [N, ceil(CO/16), output extents..., 16]; lanes past CO are undefined
// x and wp may be u8 and i8 if the convolution is not plain; y is then i32.
// Attributes: in_channels, out_channels, kernel_shape, and those of Conv.
#include "compiler/kernel/packing.h"
#include "compiler/ops/ops.h"
#include "compiler/ops/sliding_window.h"

namespace gcg {
namespace {

ConvPacking packing_of(const Node& node, DType weights) {
  const int64_t group = node.int_attribute("group", 1);
  return {node.int_attribute("in_channels", 0) / group, node.int_attribute("out_channels", 0), group,
          node.int_attribute("plain", 0) != 0, weights == DType::i8};
}

Window window_of_blocked(const Node& node, const Shape& x) {
  const std::vector<int64_t> kernel = node.ints_attribute("kernel_shape");
  return window_of(node, {x.begin(), x.begin() + 2 + static_cast<int64_t>(kernel.size())}, to_shape(kernel));
}

void infer_blocked_conv(InferContext& ctx) {
  const Node& node = ctx.node();
  const ConvPacking packing = packing_of(node, ctx.dtype(1));
  const Shape kernel = to_shape(node.ints_attribute("kernel_shape"));
  if (ctx.rank(0) != static_cast<int64_t>(kernel.size()) + (packing.plain ? 2 : 3))
    ctx.fail("the input is not in the layout that `plain` says");
  const Shape& x = ctx.shape(0);
  const int64_t channels = packing.inputs * packing.groups;
  ctx.require_equal(x[1], packing.plain ? channels : blocks_of(channels, kChannelBlock), "the input channels");
  if (ctx.shape(1) != packing.shape(kernel)) ctx.fail("the packed weights do not match the attributes");
  Shape y = windowed_shape(x[0], blocks_of(packing.outputs, kChannelBlock), window_of_blocked(node, x));
  y.push_back(kChannelBlock);
  ctx.set_output(0, sum_type(ctx.dtype(1)), y);
}

Expr lower_blocked_conv(LowerContext& ctx, int, const std::vector<Expr>& at) {
  const DType sum = sum_type(ctx.input_value(1).dtype);
  const ConvPacking packing = packing_of(ctx.node(), ctx.input_value(1).dtype);
  const Window window = window_of_blocked(ctx.node(), ctx.input_shape(0));
  const Taps taps = taps_of(ctx, window, std::span(at).subspan(2, window.size()));
  const auto quotient = [](const Expr& a, int64_t b) { return binary(BinaryOp::floor_div, a, index(b)); };
  const auto modulo = [](const Expr& a, int64_t b) { return binary(BinaryOp::mod, a, index(b)); };
  const Axis input = ctx.fresh_axis(packing.inputs);
  const Expr ci = axis_ref(input), co = at[1] * index(kChannelBlock) + at.back();
  Expr channel = ci;
  if (packing.groups > 1) {  // lanes past CO belong to no group
    const Expr group = binary(BinaryOp::min, quotient(co, packing.group_outputs()), index(packing.groups - 1));
    channel = group * index(packing.inputs) + ci;
  }
  std::vector<Expr> from = {at[0], packing.plain ? channel : quotient(channel, kChannelBlock)};
  from.insert(from.end(), taps.position.begin(), taps.position.end());
  if (!packing.plain) from.push_back(modulo(channel, kChannelBlock));
  std::vector<Expr> weight = {quotient(co, packing.columns()), quotient(ci, packing.unit())};
  for (const Axis& tap : taps.axes) weight.push_back(axis_ref(tap));
  weight.push_back(quotient(modulo(ci, packing.unit()), packing.vnni_group()));
  weight.push_back(modulo(co, packing.columns()));
  if (packing.vnni_group() > 1) weight.push_back(modulo(ci, packing.vnni_group()));
  Expr term = cast(sum, ctx.input(0, from)) * cast(sum, ctx.input(1, weight));
  if (taps.inside) term = select(taps.inside, term, number(term->dtype, 0));
  std::vector<Axis> axes = taps.axes;
  axes.insert(axes.begin(), input);
  return reduce(ReduceOp::sum, axes, term);
}

/// The sum over taps and channels for output channel `co` of image `n` at position `at`.
double convolve(const Tensor& x, const Tensor& wp, const ConvPacking& packing, const PlainWindow& window, int64_t n,
                int64_t co, const std::vector<int64_t>& at) {
  const int64_t taps = element_count(window.kernel), area = element_count(window.input);
  const int64_t channels = packing.inputs * packing.groups, first = co / packing.group_outputs() * packing.inputs;
  const int64_t lanes = packing.plain ? 1 : kChannelBlock, blocks = blocks_of(channels, lanes);
  const std::vector<int64_t> strides = row_major_strides(window.input);
  double sum = 0;
  int64_t tap = 0;
  std::vector<int64_t> p;
  for_each_index(window.kernel, [&](const std::vector<int64_t>& k) {
    const int64_t here = tap++;
    if (!window.read(at, k, p)) return;
    int64_t offset = 0;
    for (size_t d = 0; d < p.size(); ++d) offset += p[d] * strides[d];
    for (int64_t ci = 0; ci < packing.inputs; ++ci) {
      const int64_t channel = first + ci, place = (n * blocks + channel / lanes) * area + offset;
      sum += x.at_double(place * lanes + channel % lanes) * wp.at_double(packing.place(co, ci, here, taps));
    }
  });
  return sum;
}

std::vector<Tensor> reference_blocked_conv(ReferenceContext& ctx) {
  const Tensor &x = *ctx.input(0), &wp = *ctx.input(1);
  const ConvPacking packing = packing_of(ctx.node(), wp.dtype());
  const std::vector<int64_t> kernel = ctx.node().ints_attribute("kernel_shape");
  const std::vector<int64_t> planes(x.shape().begin(), x.shape().begin() + 2 + static_cast<int64_t>(kernel.size()));
  const PlainWindow window = plain_window(ctx.node(), planes, kernel);
  const int64_t blocks = blocks_of(packing.outputs, kChannelBlock);
  std::vector<int64_t> shape = {planes[0], blocks};
  shape.insert(shape.end(), window.output.begin(), window.output.end());
  shape.push_back(kChannelBlock);
  Tensor y(sum_type(wp.dtype()), shape);
  int64_t o = 0;
  for_each_index(shape, [&](const std::vector<int64_t>& at) {
    const int64_t co = at[1] * kChannelBlock + at.back(), here = o++;
    if (co >= packing.outputs) return;
    y.set_double(here, convolve(x, wp, packing, window, at[0], co, {at.begin() + 2, at.end() - 1}));
  });
  return {y};
}

}  // namespace

const OpDef op_gart_BlockedConv = {.name = "BlockedConv",
                                   .domain = "gart",
                                   .min_inputs = 2,
                                   .max_inputs = 2,
                                   .kind = OpKind::contraction,
                                   .infer = infer_blocked_conv,
                                   .lower = lower_blocked_conv,
                                   .reference = reference_blocked_conv};

}  // namespace gcg
