// gart.WinogradWeights, gart.WinogradConv: 3x3 convolutions of stride 1 by Winograd's algorithm
// (compiler/kernel/winograd.h). The attribute `tile` names the variant.
//   gart.WinogradWeights  w [CO, CI, 3, 3] -> G w G' as [CO, CI, products, 1], which gart.PackConv packs
//   gart.WinogradConv     x [N, ceil(CI/16), H, W, 16], the packed weights -> y [N, ceil(CO/16), OH, OW, 16]; no bias
// Lanes past CI are never read; lanes past CO are undefined. Attributes: in_channels, out_channels, pads, tile.
#include <algorithm>

#include "compiler/kernel/packing.h"
#include "compiler/kernel/winograd.h"
#include "compiler/ops/ops.h"
#include "compiler/ops/sliding_window.h"

namespace gcg {
namespace {

const WinogradVariant& form_of(const Node& node) { return winograd_variant(node.int_attribute("tile", 0)); }

// ---- weights

void infer_weights(InferContext& ctx) {
  const Shape& w = ctx.shape(0);
  if (w.size() != 4 || !w[2].is(kWinogradKernel) || !w[3].is(kWinogradKernel)) ctx.fail("the kernel must be 3x3");
  ctx.set_output(0, ctx.dtype(0), {w[0], w[1], form_of(ctx.node()).products(), 1});
}

/// G w G' of one kernel.
void transform(const WinogradVariant& variant, const Tensor& w, int64_t kernel, Tensor& u) {
  constexpr size_t taps = kWinogradKernel;
  const auto side = static_cast<size_t>(variant.side());
  double x[taps][taps];
  for (size_t i = 0; i < taps * taps; ++i)
    x[i / taps][i % taps] = w.at_double(kernel * static_cast<int64_t>(taps * taps) + static_cast<int64_t>(i));
  for (size_t p = 0; p < side; ++p) {
    double row[taps] = {};
    for (size_t r = 0; r < taps; ++r)
      for (size_t s = 0; s < taps; ++s) row[s] += variant.weights[p][r] * x[r][s];
    for (size_t q = 0; q < side; ++q) {
      double sum = 0;
      for (size_t s = 0; s < taps; ++s) sum += row[s] * variant.weights[q][s];
      u.set_double(kernel * variant.products() + static_cast<int64_t>(p * side + q), sum);
    }
  }
}

std::vector<Tensor> reference_weights(ReferenceContext& ctx) {
  const Tensor& w = *ctx.input(0);
  const WinogradVariant& variant = form_of(ctx.node());
  Tensor u(w.dtype(), {w.shape()[0], w.shape()[1], variant.products(), 1});
  for (int64_t kernel = 0; kernel < w.shape()[0] * w.shape()[1]; ++kernel) transform(variant, w, kernel, u);
  return {u};
}

// ---- convolution

ConvPacking packing_of(const Node& node) {
  return {node.int_attribute("in_channels", 0), node.int_attribute("out_channels", 0), 1, false, false};
}

Window window_of_blocked(const Node& node, const Shape& x) {
  return window_of(node, {x.begin(), x.begin() + 4}, {kWinogradKernel, kWinogradKernel});
}

void infer_conv(InferContext& ctx) {
  const ConvPacking packing = packing_of(ctx.node());
  if (ctx.rank(0) != 5) ctx.fail("the input is not in blocks of channels");
  const Shape& x = ctx.shape(0);
  ctx.require_equal(x[1], blocks_of(packing.inputs, kChannelBlock), "the input channels");
  if (ctx.shape(1) != packing.shape({form_of(ctx.node()).products(), 1}))
    ctx.fail("the packed weights do not match the attributes");
  Shape y = windowed_shape(x[0], blocks_of(packing.outputs, kChannelBlock), window_of_blocked(ctx.node(), x));
  y.push_back(kChannelBlock);
  ctx.set_output(0, ctx.dtype(1), y);
}

/// Recovers the weights of a tap: `first` times row `row` of G w, plus `second` times row `other`. The interpolation
/// points begin with 0 and two numbers that are negatives of each other, and end with infinity.
struct TapRows {
  Expr row, other, first, second;
};

TapRows rows_of(const WinogradVariant& variant, const Axis& tap) {
  const Expr is_first = binary(BinaryOp::equal, axis_ref(tap), index(0));
  const Expr is_middle = binary(BinaryOp::equal, axis_ref(tap), index(1));
  const auto number = [](double v) { return constant_float(DType::f32, v); };
  const double middle = 1 / (variant.weights[1][1] - variant.weights[2][1]);
  return {select(is_first, index(0), select(is_middle, index(1), index(variant.side() - 1))), index(2),
          select(is_first, number(1 / variant.weights[0][0]), select(is_middle, number(middle), number(1))),
          select(is_middle, number(-middle), number(0))};
}

/// Computes a sum over taps; the weights of the taps are recovered from their transforms.
Expr lower_conv(LowerContext& ctx, int, const std::vector<Expr>& at) {
  const WinogradVariant& variant = form_of(ctx.node());
  const ConvPacking packing = packing_of(ctx.node());
  const Taps taps = taps_of(ctx, window_of_blocked(ctx.node(), ctx.input_shape(0)), std::span(at).subspan(2, 2));
  const auto quotient = [](const Expr& a, int64_t b) { return binary(BinaryOp::floor_div, a, index(b)); };
  const auto modulo = [](const Expr& a, int64_t b) { return binary(BinaryOp::mod, a, index(b)); };
  const Axis input = ctx.fresh_axis(packing.inputs);
  const Expr ci = axis_ref(input), co = at[1] * index(kChannelBlock) + at.back();
  const auto transformed = [&](const Expr& row, const Expr& column) {
    return ctx.input(
        1, {quotient(co, packing.columns()), quotient(ci, kChannelBlock), row * index(variant.side()) + column,
            index(0), modulo(ci, kChannelBlock), modulo(co, packing.columns())});
  };
  const TapRows r = rows_of(variant, taps.axes[0]), c = rows_of(variant, taps.axes[1]);
  const Expr weight = r.first * (c.first * transformed(r.row, c.row) + c.second * transformed(r.row, c.other)) +
                      r.second * (c.first * transformed(r.other, c.row) + c.second * transformed(r.other, c.other));
  Expr term = ctx.input(0, {at[0], quotient(ci, kChannelBlock), taps.position[0], taps.position[1],
                            modulo(ci, kChannelBlock)}) *
              weight;
  if (taps.inside) term = select(taps.inside, term, number(term->dtype, 0));
  return reduce(ReduceOp::sum, {input, taps.axes[0], taps.axes[1]}, term);
}

/// A tile of inputs or outputs, in double.
using Square = std::vector<std::vector<double>>;

/// m x m'
Square sandwich(const WinogradVariant::Matrix& m, const Square& x) {
  Square y(m.size(), std::vector<double>(m.size()));
  for (size_t i = 0; i < m.size(); ++i)
    for (size_t j = 0; j < m.size(); ++j)
      for (size_t k = 0; k < x.size(); ++k)
        for (size_t l = 0; l < x.size(); ++l) y[i][j] += m[i][k] * x[k][l] * m[j][l];
  return y;
}

/// The outputs of a tile for channel `co`; `read(ci, row, column)` gives its inputs.
template <class Read>
Square outputs_of(const WinogradVariant& variant, const ConvPacking& packing, const Tensor& u, int64_t co,
                  const Read& read) {
  const auto side = static_cast<size_t>(variant.side());
  Square sum(side, std::vector<double>(side));
  for (int64_t ci = 0; ci < packing.inputs; ++ci) {
    Square x(side, std::vector<double>(side));
    for (size_t i = 0; i < side; ++i)
      for (size_t j = 0; j < side; ++j) x[i][j] = read(ci, static_cast<int64_t>(i), static_cast<int64_t>(j));
    const Square v = sandwich(variant.input, x);
    for (size_t i = 0; i < side; ++i)
      for (size_t j = 0; j < side; ++j)
        sum[i][j] +=
            v[i][j] * u.at_double(packing.place(co, ci, static_cast<int64_t>(i * side + j), variant.products()));
  }
  return sandwich(variant.output, sum);
}

std::vector<Tensor> reference_conv(ReferenceContext& ctx) {
  const Tensor &x = *ctx.input(0), &u = *ctx.input(1);
  const WinogradVariant& variant = form_of(ctx.node());
  const ConvPacking packing = packing_of(ctx.node());
  const PlainWindow window = plain_window(ctx.node(), {x.shape().begin(), x.shape().begin() + 4}, {3, 3});
  const int64_t blocks = blocks_of(packing.inputs, kChannelBlock), height = x.shape()[2], width = x.shape()[3];
  const int64_t out_height = window.output[0], out_width = window.output[1];
  Tensor y(u.dtype(), {x.shape()[0], blocks_of(packing.outputs, kChannelBlock), out_height, out_width, kChannelBlock});
  for (int64_t n = 0; n < x.shape()[0]; ++n)
    for (int64_t co = 0; co < packing.outputs; ++co)
      for (int64_t top = 0; top < out_height; top += variant.tile)
        for (int64_t left = 0; left < out_width; left += variant.tile) {
          const Square out = outputs_of(variant, packing, u, co, [&](int64_t ci, int64_t i, int64_t j) {
            const int64_t row = top + i - window.pad_begin[0], column = left + j - window.pad_begin[1];
            if (row < 0 || row >= height || column < 0 || column >= width) return 0.0;
            const int64_t place = ((n * blocks + ci / kChannelBlock) * height + row) * width + column;
            return x.at_double(place * kChannelBlock + ci % kChannelBlock);
          });
          for (int64_t i = 0; i < std::min(variant.tile, out_height - top); ++i)
            for (int64_t j = 0; j < std::min(variant.tile, out_width - left); ++j) {
              const int64_t block = n * y.shape()[1] + co / kChannelBlock;
              const int64_t place = (block * out_height + top + i) * out_width + left + j;
              y.set_double(place * kChannelBlock + co % kChannelBlock,
                           out[static_cast<size_t>(i)][static_cast<size_t>(j)]);
            }
        }
  return {y};
}

}  // namespace

const OpDef op_gart_WinogradWeights = {.name = "WinogradWeights",
                                       .domain = "gart",
                                       .min_inputs = 1,
                                       .max_inputs = 1,
                                       .kind = OpKind::opaque,
                                       .infer = infer_weights,
                                       .reference = reference_weights};
const OpDef op_gart_WinogradConv = {.name = "WinogradConv",
                                    .domain = "gart",
                                    .min_inputs = 2,
                                    .max_inputs = 2,
                                    .kind = OpKind::contraction,
                                    .infer = infer_conv,
                                    .lower = lower_conv,
                                    .reference = reference_conv};

}  // namespace gcg
