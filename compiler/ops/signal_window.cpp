// HannWindow, HammingWindow, BlackmanWindow and MelWeightMatrix.
#include <cmath>
#include <numbers>

#include "compiler/ops/index.h"
#include "compiler/ops/movement.h"
#include "compiler/ops/ops.h"
#include "compiler/ops/pointwise.h"

namespace gcg {
namespace {

/// a0 - a1 cos(angle) + a2 cos(2 angle), where the angle runs through one full turn.
struct Cosines {
  double a0, a1, a2;
};
constexpr Cosines kHann = {0.5, 0.5, 0}, kHamming = {25.0 / 46, 21.0 / 46, 0}, kBlackman = {0.42, 0.5, 0.08};

DType output_type(const Node& node) {
  const int64_t code = node.int_attribute("output_datatype", 1);
  const auto dtype = dtype_from_onnx(static_cast<int32_t>(code));
  if (!dtype) fail_node(node, concat("element type ", code, " (attribute output_datatype) is not supported"));
  return *dtype;
}

void infer_window(InferContext& ctx) {
  if (!product(ctx.shape(0)).is(1)) ctx.fail("size (input 0) is not a scalar");
  const auto size = ctx.contents(0);
  ctx.set_output(0, output_type(ctx.node()), {size ? size->front() : ctx.fresh_symbol("window")});
}

Expr window_extent(LowerContext& ctx, int) { return integer_input(ctx, 0, Index(ctx.input_shape(0).size(), index(0))); }

template <const Cosines& kWindow>
Expr lower_window(LowerContext& ctx, int output, const std::vector<Expr>& at) {
  const bool periodic = ctx.node().int_attribute("periodic", 1) != 0;
  const auto f = [](double v) { return constant_float(DType::f32, v); };
  const Dim size = ctx.output_shape(output)[0];
  const Expr period = cast(DType::f32, extent(periodic ? size : size - 1));
  const Expr angle = binary(BinaryOp::div, f(2 * std::numbers::pi) * cast(DType::f32, at[0]), period);
  Expr y = f(kWindow.a0) - f(kWindow.a1) * unary(UnaryOp::cos, angle);
  if (kWindow.a2 != 0) y = y + f(kWindow.a2) * unary(UnaryOp::cos, angle + angle);
  return as_output(ctx, output, y);
}

template <const Cosines& kWindow>
std::vector<Tensor> reference_window(ReferenceContext& ctx) {
  const int64_t size = ctx.input(0)->at_int(0);
  const auto period = static_cast<double>(ctx.node().int_attribute("periodic", 1) != 0 ? size : size - 1);
  Tensor y(output_type(ctx.node()), {size});
  for (int64_t n = 0; n < size; ++n) {
    const double angle = 2 * std::numbers::pi * static_cast<double>(n) / period;
    y.set_double(n, kWindow.a0 - kWindow.a1 * std::cos(angle) + kWindow.a2 * std::cos(2 * angle));
  }
  return {std::move(y)};
}

template <const Cosines& kWindow>
constexpr OpDef window_op(const char* name) {
  return {.name = name,
          .since = 17,
          .min_inputs = 1,
          .max_inputs = 1,
          .types = {Types::integers},
          .results = {Types::any},
          .kind = OpKind::generator,
          .infer = infer_window,
          .lower = lower_window<kWindow>,
          .data_extent = window_extent,
          .reference = reference_window<kWindow>};
}

// ---- MelWeightMatrix: triangles over the bins of a spectrum, evenly spaced in mel. Its inputs are always constant, so
// constant folding computes it.

void infer_mel(InferContext& ctx) {
  for (int i = 0; i < 5; ++i)
    if (!ctx.constant(i) || ctx.constant(i)->elements() != 1)
      ctx.fail(concat("input ", i, " must be a constant scalar"));
  const int64_t bands = ctx.constant(0)->at_int(0), length = ctx.constant(1)->at_int(0);
  if (bands < 1 || length < 1 || ctx.constant(2)->at_int(0) < 1)
    ctx.fail(
        concat(bands, " bands of ", length, " samples at ", ctx.constant(2)->at_int(0), " Hz, all must be at least 1"));
  ctx.set_output(0, output_type(ctx.node()), {length / 2 + 1, bands});
}

/// The edges of the triangles, in bins: band b rises from edge b to edge b + 1 and falls to edge b + 2.
std::vector<int64_t> mel_edges(ReferenceContext& ctx) {
  const int64_t bands = ctx.input(0)->at_int(0);
  const auto length = static_cast<double>(ctx.input(1)->at_int(0)), rate = static_cast<double>(ctx.input(2)->at_int(0));
  const auto mel = [](double hertz) { return 2595 * std::log10(1 + hertz / 700); };
  const double low = mel(ctx.input(3)->at_double(0)), high = mel(ctx.input(4)->at_double(0));
  const double step = (high - low) / static_cast<double>(bands + 2);
  std::vector<int64_t> edges;
  for (int64_t b = 0; b < bands + 2; ++b) {
    const double hertz = 700 * (std::pow(10, (low + static_cast<double>(b) * step) / 2595) - 1);
    edges.push_back(static_cast<int64_t>(std::floor((length + 1) * hertz / rate)));
  }
  return edges;
}

std::vector<Tensor> reference_mel(ReferenceContext& ctx) {
  const std::vector<int64_t> edges = mel_edges(ctx);
  const int64_t bands = ctx.input(0)->at_int(0), bins = ctx.input(1)->at_int(0) / 2 + 1;
  if (edges.front() < 0 || edges.back() > bins)
    fail_node(ctx.node(), concat("the frequencies span bins ", edges.front(), " to ", edges.back(), " of ", bins));
  Tensor y(output_type(ctx.node()), {bins, bands});
  for (int64_t b = 0; b < bands; ++b) {
    const auto at = static_cast<size_t>(b);
    const int64_t left = edges[at], centre = edges[at + 1], right = edges[at + 2];
    const auto part = [](int64_t a, int64_t of) {
      return of == 0 ? 1.0 : static_cast<double>(a) / static_cast<double>(of);
    };
    for (int64_t j = left; j <= std::min(centre, bins - 1); ++j)
      y.set_double(j * bands + b, part(j - left, centre - left));
    for (int64_t j = centre; j < std::min(right, bins); ++j)
      y.set_double(j * bands + b, part(right - j, right - centre));
  }
  return {std::move(y)};
}

}  // namespace

constinit const OpDef op_BlackmanWindow = window_op<kBlackman>("BlackmanWindow");
constinit const OpDef op_HammingWindow = window_op<kHamming>("HammingWindow");
constinit const OpDef op_HannWindow = window_op<kHann>("HannWindow");
constinit const OpDef op_MelWeightMatrix{.name = "MelWeightMatrix",
                                         .since = 17,
                                         .min_inputs = 5,
                                         .max_inputs = 5,
                                         .types = {Types::integers, Types::integers, Types::integers, Types::floats},
                                         .results = {Types::any},
                                         .kind = OpKind::opaque,
                                         .infer = infer_mel,
                                         .reference = reference_mel};

}  // namespace gcg
