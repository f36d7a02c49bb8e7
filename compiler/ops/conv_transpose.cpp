// ConvTranspose: any number of spatial dimensions, groups, dilations, output_padding, output_shape and auto_pad.
//
// Input position i adds x[i] * w[k] to output i * stride - pad_begin + k * dilation. Seen from output o, tap k reads
// input (o + pad_begin - k * dilation) / stride, if that is a whole number inside the input.
#include "compiler/ops/conv_transpose.h"

#include <algorithm>

#include "compiler/ops/op_support.h"
#include "compiler/ops/ops.h"
#include "compiler/ops/stated_kernel.h"

namespace gcg {
namespace {

std::vector<int64_t> spatial_ints(const Node& node, const std::string& name, size_t count, int64_t otherwise,
                                  int64_t least) {
  const std::vector<int64_t> values = node.ints_attribute(name, std::vector<int64_t>(count, otherwise));
  if (values.size() != count)
    fail_node(node, concat(name, " has ", values.size(), " values for an input that needs ", count));
  for (int64_t v : values) {
    if (v < least) fail_node(node, concat(name, " contains ", v, ", the least is ", least));
  }
  return values;
}

}  // namespace

std::vector<TransposedWindow> transposed_windows(const Node& node, const Shape& x, const Shape& w) {
  const size_t rank = x.size() - 2;
  const auto strides = spatial_ints(node, "strides", rank, 1, 1),
             dilations = spatial_ints(node, "dilations", rank, 1, 1);
  const auto extra = spatial_ints(node, "output_padding", rank, 0, 0);
  const auto pads = spatial_ints(node, "pads", rank * 2, 0, 0);
  const std::string auto_pad = node.string_attribute("auto_pad", "NOTSET");
  const bool same = auto_pad == "SAME_UPPER" || auto_pad == "SAME_LOWER",
             has_shape = node.has_attribute("output_shape");
  if (!same && auto_pad != "NOTSET" && auto_pad != "VALID")
    fail_node(node, concat("auto_pad '", auto_pad, "' is not known"));
  std::vector<int64_t> requested_shape;
  if (has_shape) requested_shape = spatial_ints(node, "output_shape", rank, 0, 0);
  std::vector<TransposedWindow> windows;
  for (size_t d = 0; d < rank; ++d) {
    TransposedWindow s{x[d + 2], w[d + 2], 0, 0, strides[d], dilations[d]};
    const Dim full = (s.input - 1) * s.stride + extra[d] + (s.kernel - 1) * s.dilation + 1;
    if (has_shape || same) {
      s.output = has_shape ? Dim(requested_shape[d]) : s.input * s.stride;
      const Dim total = max(full - s.output, 0);
      s.pad_begin = auto_pad == "SAME_UPPER" ? floor_div(total, 2) : ceil_div(total, 2);
    } else {
      const bool padded = auto_pad == "NOTSET";
      s.pad_begin = padded ? pads[d] : 0;
      s.output = full - (padded ? pads[d] + pads[rank + d] : 0);
    }
    windows.push_back(s);
  }
  return windows;
}

namespace {

void infer_conv_transpose(InferContext& ctx) {
  const Shape &x = ctx.shape(0), &w = ctx.shape(1);
  if (x.size() < 3 || w.size() != x.size()) ctx.fail("input and weights must have the same rank, 3 or more");
  const int64_t group = ctx.node().int_attribute("group", 1);
  ctx.require_equal(x[1], w[0], "the channels of input and weights");
  if (group < 1 || (x[1].is_constant() && x[1].constant() % group != 0)) {
    ctx.fail(concat("group is ", group, ", it must divide the ", x[1].str(), " channels"));
  }
  require_stated_kernel(ctx, Shape(w.begin() + 2, w.end()));
  const Dim outputs = w[1] * group;
  if (ctx.has_input(2))
    ctx.require_equal(ctx.rank(2) == 1 ? ctx.shape(2)[0] : Dim(-1), outputs, "bias and output channels");
  Shape shape = {x[0], outputs};
  for (const TransposedWindow& s : transposed_windows(ctx.node(), x, w)) {
    ctx.require_equal(max(s.output, 0), s.output,
                      concat("spatial axis ", shape.size() - 2, ": the padding leaves nothing of the output"));
    shape.push_back(s.output);
  }
  ctx.set_output(0, ctx.dtype(0), shape);
}

Expr lower_conv_transpose(LowerContext& ctx, int, const std::vector<Expr>& at) {
  const Shape &x = ctx.input_shape(0), &w = ctx.input_shape(1);
  const int64_t group = ctx.node().int_attribute("group", 1);
  const Axis ci = ctx.fresh_axis(floor_div(x[1], group));
  std::vector<Axis> axes = {ci};
  Expr channel = axis_ref(ci), output = at[1];
  if (group > 1) {
    channel = binary(BinaryOp::floor_div, at[1], extent(w[1])) * extent(ci.extent) + channel;
    output = binary(BinaryOp::mod, at[1], extent(w[1]));
  }
  std::vector<Expr> x_index = {at[0], channel}, w_index = {channel, output};
  Expr inside;
  const std::vector<TransposedWindow> windows = transposed_windows(ctx.node(), x, w);
  for (size_t d = 0; d < windows.size(); ++d) {
    const TransposedWindow& s = windows[d];
    axes.push_back(ctx.fresh_axis(s.kernel));
    const Expr distance = at[d + 2] + extent(s.pad_begin) - axis_ref(axes.back()) * index(s.dilation);
    const Expr i = s.stride == 1 ? distance : binary(BinaryOp::floor_div, distance, index(s.stride));
    const Expr last = extent(s.input - 1);
    if (s.stride != 1) inside = both(inside, binary(BinaryOp::equal, i * index(s.stride), distance));
    inside = both(inside, both(binary(BinaryOp::greater_equal, i, index(0)), binary(BinaryOp::less_equal, i, last)));
    x_index.push_back(binary(BinaryOp::max, index(0), binary(BinaryOp::min, i, last)));
    w_index.push_back(axis_ref(axes.back()));
  }
  const Expr term = arithmetic_input(ctx, 0, x_index) * arithmetic_input(ctx, 1, w_index);
  Expr y = reduce(ReduceOp::sum, axes, select(inside, term, number(term->dtype, 0)));
  if (ctx.has_input(2)) y = y + arithmetic_input(ctx, 2, {at[1]});
  return as_output(ctx, 0, y);
}

/// Scatters: adds each input element to the outputs that it reaches.
std::vector<Tensor> reference_conv_transpose(ReferenceContext& ctx) {
  const Tensor &x = *ctx.input(0), &w = *ctx.input(1);
  const Tensor* bias = ctx.input_count() > 2 ? ctx.input(2) : nullptr;
  const int64_t group = ctx.node().int_attribute("group", 1), batch = x.shape()[0], inputs = x.shape()[1];
  const int64_t group_outputs = w.shape()[1], outputs = group_outputs * group, group_inputs = inputs / group;
  const std::vector<TransposedWindow> windows =
      transposed_windows(ctx.node(), to_shape(x.shape()), to_shape(w.shape()));
  const std::vector<int64_t> space(x.shape().begin() + 2, x.shape().end()),
      kernel(w.shape().begin() + 2, w.shape().end());
  std::vector<int64_t> shape = {batch, outputs}, plane;
  for (const TransposedWindow& s : windows) plane.push_back(s.output.constant());
  shape.insert(shape.end(), plane.begin(), plane.end());
  const std::vector<int64_t> strides = row_major_strides(plane);
  const int64_t area = element_count(plane), taps = element_count(kernel), points = element_count(space);
  std::vector<double> sums(static_cast<size_t>(batch * outputs * area));
  for (size_t i = 0; bias && i < sums.size(); ++i) sums[i] = bias->at_double(static_cast<int64_t>(i) / area % outputs);
  int64_t point = 0;
  for_each_index(space, [&](const std::vector<int64_t>& from) {
    int64_t tap = 0;
    for_each_index(kernel, [&](const std::vector<int64_t>& k) {
      int64_t offset = 0;
      bool inside = true;
      for (size_t d = 0; d < from.size(); ++d) {
        const int64_t to = from[d] * windows[d].stride - windows[d].pad_begin.constant() + k[d] * windows[d].dilation;
        inside = inside && to >= 0 && to < plane[d];
        offset += to * strides[d];
      }
      for (int64_t c = 0; inside && c < batch * inputs; ++c) {
        const int64_t n = c / inputs, ci = c % inputs, first = ci / group_inputs * group_outputs;
        for (int64_t co = 0; co < group_outputs; ++co) {
          sums[static_cast<size_t>((n * outputs + first + co) * area + offset)] +=
              x.at_double(c * points + point) * w.at_double((ci * group_outputs + co) * taps + tap);
        }
      }
      ++tap;
    });
    ++point;
  });
  Tensor y(x.dtype(), shape);
  for (size_t i = 0; i < sums.size(); ++i) y.set_double(static_cast<int64_t>(i), sums[i]);
  return {y};
}

}  // namespace

const OpDef op_ConvTranspose = {.name = "ConvTranspose",
                                .since = 1,
                                .min_inputs = 2,
                                .max_inputs = 3,
                                .types = {Types::numbers, Types::as_first},
                                .kind = OpKind::contraction,
                                .traits = {.keeps_channels = true},
                                .infer = infer_conv_transpose,
                                .lower = lower_conv_transpose,
                                .reference = reference_conv_transpose};

}  // namespace gcg
