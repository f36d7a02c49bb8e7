// DeformConv: a convolution whose taps are moved by offsets, which are data, and weighted by a mask. expand_deform_conv
// rewrites it as gart.DeformColumns and a matrix product. gart.DeformColumns gathers the value that each tap reads from
// each channel.
#include "compiler/ops/deform_conv.h"

#include <cmath>

#include "compiler/ops/movement.h"
#include "compiler/ops/ops.h"
#include "compiler/ops/pointwise.h"
#include "compiler/ops/sampling.h"
#include "compiler/ops/sliding_window.h"

namespace gcg {
namespace {

/// Fails unless offset and mask fit the window. `offset` is the input of the offset. The mask is the next input or, for
/// DeformConv, the one after the bias. Returns the output's extents.
Shape check_offsets(InferContext& ctx, int offset, int mask, const Dim& batch, const Dim& channels,
                    const Window& window) {
  const int64_t groups = ctx.node().int_attribute("offset_group", 1), dims = static_cast<int64_t>(window.size());
  if (groups < 1) ctx.fail(concat("offset_group is ", groups, ", it must be at least 1"));
  ctx.require_equal(floor_div(channels, groups) * groups, channels, "channels and offset groups");
  Dim taps = groups;
  Shape out;
  for (const WindowDim& w : window) taps = taps * w.kernel;
  for (int i : {offset, mask}) {
    if (!ctx.has_input(i)) continue;
    if (ctx.rank(i) != dims + 2)
      ctx.fail(concat("input ", i, " has ", ctx.rank(i), " dimensions, it must have ", dims + 2));
    ctx.require_equal(ctx.shape(i)[0], batch, "the batches of the inputs");
    ctx.require_equal(ctx.shape(i)[1], i == offset ? taps * dims : taps, "taps of offset and mask");
    for (size_t d = 0; d < window.size(); ++d)
      ctx.require_equal(ctx.shape(i)[d + 2], window[d].output, "positions of the window, offset and mask");
  }
  for (const WindowDim& w : window) out.push_back(w.output);
  return out;
}

void infer_deform_conv(InferContext& ctx) {
  const Shape &x = ctx.shape(kDeformX), &w = ctx.shape(kDeformW);
  if (x.size() < 3 || w.size() != x.size()) ctx.fail("X must be [N, C, D1, ..] and W [M, C / group, k1, ..]");
  const int64_t group = ctx.node().int_attribute("group", 1);
  if (group < 1) ctx.fail(concat("group is ", group, ", it must be at least 1"));
  for (size_t d = 1; d < w.size(); ++d)
    if (!w[d].is_constant()) ctx.fail("the extents of W must be known");
  ctx.require_equal(w[1] * group, x[1], "channels of X and W");
  ctx.require_equal(floor_div(w[0], group) * group, w[0], "features and groups");
  const Window window = window_of(ctx.node(), x, {w.begin() + 2, w.end()});
  Shape y = {x[0], w[0]};
  for (const Dim& d : check_offsets(ctx, kDeformOffset, kDeformMask, x[0], x[1], window)) y.push_back(d);
  if (ctx.has_input(kDeformBias)) ctx.require_equal(product(ctx.shape(kDeformBias)), w[0], "elements of the bias");
  ctx.set_output(0, ctx.dtype(kDeformX), std::move(y));
}

// ---- gart.DeformColumns(x [N, D1, .., C], offset, mask): [N, o1, .., k1, .., C]; attribute kernel_shape

/// x as the input of a convolution, [N, C, D1, ..].
Shape channels_second(const Shape& x) {
  Shape shape = {x[0], x.back()};
  shape.insert(shape.end(), x.begin() + 1, x.end() - 1);
  return shape;
}

Window columns_window(const Node& node, const Shape& x) {
  return window_of(node, channels_second(x), to_shape(node.ints_attribute("kernel_shape")));
}

void infer_columns(InferContext& ctx) {
  const Shape& x = ctx.shape(0);
  const Window window = columns_window(ctx.node(), x);
  Shape y = {x[0]};
  for (const Dim& d : check_offsets(ctx, 1, 2, x[0], x.back(), window)) y.push_back(d);
  for (const WindowDim& w : window) y.push_back(w.kernel);
  y.push_back(x.back());
  ctx.set_output(0, ctx.dtype(0), std::move(y));
}

/// The interpolated sum over both neighbours in every dimension from `d` on.
Expr interpolated(LowerContext& ctx, const std::vector<Expr>& positions, size_t d, Index& at, const Expr& inside) {
  if (d == positions.size()) {
    const Expr v = arithmetic_input(ctx, 0, at);
    return select(inside, v, number(v->dtype, 0));
  }
  const Dim& size = ctx.input_shape(0)[d + 1];
  const Expr floor = unary(UnaryOp::floor, positions[d]), t = positions[d] - floor, first = cast(DType::i64, floor);
  Expr sum;
  for (int64_t k : {0, 1}) {
    const Expr i = first + index(k), weight = k == 1 ? t : number(t->dtype, 1) - t;
    at[d + 1] = clamp_index(i, size);
    const Expr v = interpolated(ctx, positions, d + 1, at, both(inside, in_range(i, 0, size)));
    const Expr term = cast(v->dtype, weight) * v;
    sum = sum ? sum + term : term;
  }
  return sum;
}

Expr lower_columns(LowerContext& ctx, int output, const std::vector<Expr>& at) {
  const Shape& x = ctx.input_shape(0);
  const Window window = columns_window(ctx.node(), x);
  const size_t dims = window.size();
  const int64_t groups = ctx.node().int_attribute("offset_group", 1);
  Expr tap = groups == 1 ? index(0) : binary(BinaryOp::floor_div, at.back(), extent(floor_div(x.back(), groups)));
  for (size_t d = 0; d < dims; ++d) tap = tap * extent(window[d].kernel) + at[1 + dims + d];
  Index where = {at[0], tap};
  where.insert(where.end(), at.begin() + 1, at.begin() + 1 + static_cast<std::ptrdiff_t>(dims));
  const Expr weight = ctx.has_input(2) ? arithmetic_input(ctx, 2, where) : nullptr;
  std::vector<Expr> positions;
  for (size_t d = 0; d < dims; ++d) {
    const WindowDim& w = window[d];
    where[1] = tap * index(static_cast<int64_t>(dims)) + index(static_cast<int64_t>(d));
    const Expr moved = arithmetic_input(ctx, 1, where);
    const Expr position = at[1 + d] * index(w.stride) - extent(w.pad_begin) + at[1 + dims + d] * index(w.dilation);
    // Positions far outside are clamped. They stay outside, and can be converted to an integer.
    const Expr p = cast(moved->dtype, position) + moved, far = number(p->dtype, 0x1p30);
    positions.push_back(binary(BinaryOp::max, binary(BinaryOp::min, p, far), number(p->dtype, -0x1p30)));
  }
  Index from(dims + 2);
  from.front() = at.front();
  from.back() = at.back();
  Expr sum = interpolated(ctx, positions, 0, from, nullptr);
  if (weight) sum = sum * cast(sum->dtype, weight);
  return unless_empty(channels_second(x), guarded(as_output(ctx, output, sum)));
}

// ---- reference

/// The value of x at a position between elements; zero outside.
double read_between(const Tensor& x, const std::vector<int64_t>& strides, int64_t base,
                    const std::vector<int64_t>& sizes, const std::vector<double>& at) {
  double sum = 0;
  for (uint32_t corner = 0; corner < 1U << at.size(); ++corner) {
    double weight = 1;
    int64_t offset = base;
    for (size_t d = 0; d < at.size(); ++d) {
      const double floor = std::floor(at[d]), t = at[d] - floor;
      const bool high = (corner >> d & 1) != 0;
      const double i = floor + (high ? 1 : 0);
      weight *= i < 0 || i >= static_cast<double>(sizes[d]) ? 0 : high ? t : 1 - t;
      if (weight == 0) break;
      offset += static_cast<int64_t>(i) * strides[d];
    }
    if (weight != 0) sum += weight * x.at_double(offset);
  }
  return sum;
}

/// x with its channel dimension at `channel`, and the offsets of its taps.
struct ShiftedInput {
  const Tensor &x, &offset;
  const Tensor* mask;
  PlainWindow window;
  int64_t groups;
  size_t channel;

  /// The value that tap `k` of output `o` reads from channel `c`.
  double read(int64_t n, int64_t c, const std::vector<int64_t>& o, const std::vector<int64_t>& k) const {
    const std::vector<int64_t> all = row_major_strides(x.shape());
    std::vector<int64_t> strides, sizes;
    for (size_t d = 1; d < all.size(); ++d)
      if (d != channel) strides.push_back(all[d]), sizes.push_back(x.shape()[d]);
    const auto dims = static_cast<int64_t>(o.size());
    const int64_t tap = c / (x.shape()[channel] / groups) * element_count(window.kernel) + position(k, window.kernel);
    std::vector<int64_t> where = {n, tap};
    where.insert(where.end(), o.begin(), o.end());
    const double weight = mask != nullptr ? mask->at_double(position(where, mask->shape())) : 1;
    std::vector<double> at;
    for (int64_t d = 0; d < dims; ++d) {
      const auto i = static_cast<size_t>(d);
      where[1] = tap * dims + d;
      at.push_back(static_cast<double>(o[i] * window.stride[i] - window.pad_begin[i] + k[i] * window.dilation[i]) +
                   offset.at_double(position(where, offset.shape())));
    }
    return weight * read_between(x, strides, n * all[0] + c * all[channel], sizes, at);
  }
};

std::vector<Tensor> reference_columns(ReferenceContext& ctx) {
  const Tensor& x = *ctx.input(0);
  const std::vector<int64_t> kernel = ctx.node().ints_attribute("kernel_shape");
  const std::vector<int64_t> nc = to_extents(channels_second(to_shape(x.shape())));
  const ShiftedInput moved{x,
                           *ctx.input(1),
                           ctx.input_count() > 2 ? ctx.input(2) : nullptr,
                           plain_window(ctx.node(), nc, kernel),
                           ctx.node().int_attribute("offset_group", 1),
                           x.shape().size() - 1};
  const auto dims = static_cast<std::ptrdiff_t>(kernel.size());
  std::vector<int64_t> shape = {x.shape()[0]};
  shape.insert(shape.end(), moved.window.output.begin(), moved.window.output.end());
  shape.insert(shape.end(), kernel.begin(), kernel.end());
  shape.push_back(x.shape().back());
  Tensor y(x.dtype(), shape);
  for_each_index(shape, [&, i = int64_t{0}](const std::vector<int64_t>& at) mutable {
    const std::vector<int64_t> o(at.begin() + 1, at.begin() + 1 + dims), k(at.begin() + 1 + dims, at.end() - 1);
    y.set_double(i++, moved.read(at[0], at.back(), o, k));
  });
  return {std::move(y)};
}

std::vector<Tensor> reference_deform_conv(ReferenceContext& ctx) {
  const auto optional = [&](int i) { return i < ctx.input_count() ? ctx.input(i) : nullptr; };
  const Tensor &x = *ctx.input(kDeformX), &w = *ctx.input(kDeformW);
  const std::vector<int64_t> kernel(w.shape().begin() + 2, w.shape().end());
  const ShiftedInput moved{x,
                           *ctx.input(kDeformOffset),
                           optional(kDeformMask),
                           plain_window(ctx.node(), x.shape(), kernel),
                           ctx.node().int_attribute("offset_group", 1),
                           1};
  const int64_t group = ctx.node().int_attribute("group", 1), features = w.shape()[0], channels = w.shape()[1];
  std::vector<int64_t> shape = {x.shape()[0], features};
  shape.insert(shape.end(), moved.window.output.begin(), moved.window.output.end());
  Tensor y(x.dtype(), shape);
  for_each_index(shape, [&, i = int64_t{0}](const std::vector<int64_t>& at) mutable {
    double sum = optional(kDeformBias) != nullptr ? optional(kDeformBias)->at_double(at[1]) : 0;
    const std::vector<int64_t> o(at.begin() + 2, at.end());
    for (int64_t c = 0; c < channels; ++c)
      for_each_index(kernel, [&](const std::vector<int64_t>& k) {
        std::vector<int64_t> weight = {at[1], c};
        weight.insert(weight.end(), k.begin(), k.end());
        sum += w.at_double(position(weight, w.shape())) *
               moved.read(at[0], at[1] / (features / group) * channels + c, o, k);
      });
    y.set_double(i++, sum);
  });
  return {std::move(y)};
}

}  // namespace

constinit const OpDef op_DeformConv{.name = "DeformConv",
                                    .since = 19,
                                    .min_inputs = 3,
                                    .max_inputs = 5,
                                    .types = {Types::floats, Types::as_first},
                                    .kind = OpKind::contraction,
                                    .infer = infer_deform_conv,
                                    .reference = reference_deform_conv};
constinit const OpDef op_gart_DeformColumns{.name = "DeformColumns",
                                            .domain = "gart",
                                            .min_inputs = 2,
                                            .max_inputs = 3,
                                            .types = {Types::floats},
                                            .kind = OpKind::reduction,
                                            .infer = infer_columns,
                                            .lower = lower_columns,
                                            .reference = reference_columns};

}  // namespace gcg
