// GridSample: interpolates elements of X[N, C, D1, ..] at positions that a grid [N, o1, .., k] gives. Positions range
// from -1 to 1 over each dimension and list the last dimension first. AffineGrid makes such grids.
#include <cmath>

#include "compiler/ops/index.h"
#include "compiler/ops/movement.h"
#include "compiler/ops/ops.h"
#include "compiler/ops/pointwise.h"

namespace gcg {
namespace {

struct GridParams {
  std::string mode, padding;
  bool align_corners;

  /// True if positions outside move to the border. Cubic positions stay in place, as in PyTorch and onnxruntime;
  /// instead, each tap moves to the border when it is read.
  bool moves_to_border() const { return padding == "border" && mode != "cubic"; }
};

GridParams grid_params(const Node& node) {
  GridParams params{node.string_attribute("mode", "linear"), node.string_attribute("padding_mode", "zeros"),
                    node.int_attribute("align_corners", 0) != 0};
  if (params.mode == "bilinear") params.mode = "linear";  // opset 16
  if (params.mode == "bicubic") params.mode = "cubic";
  return params;
}

void infer_grid_sample(InferContext& ctx) {
  const GridParams params = grid_params(ctx.node());
  if (params.mode != "linear" && params.mode != "nearest" && params.mode != "cubic")
    ctx.fail(concat("attribute mode is '", params.mode, "', it must be 'linear', 'nearest' or 'cubic'"));
  if (params.padding != "zeros" && params.padding != "border" && params.padding != "reflection")
    ctx.fail(concat("attribute padding_mode is '", params.padding, "', it must be 'zeros', 'border' or 'reflection'"));
  if (params.mode != "nearest") require_dtype(ctx, 0, Types::floats);
  const Shape &x = ctx.shape(0), &grid = ctx.shape(1);
  if (x.size() < 3 || grid.size() != x.size()) ctx.fail("X must be [N, C, D1, ..] and the grid [N, o1, .., k]");
  ctx.require_equal(grid[0], x[0], "the batches of X and the grid");
  ctx.require_equal(grid.back(), static_cast<int64_t>(x.size()) - 2, "coordinates of the grid");
  for (size_t d = 2; d < x.size(); ++d)  // an empty input is refused, as in onnxruntime, so loads need no guard
    ctx.require_equal(max(x[d], 1), x[d], concat("spatial axis ", d - 2, " of X must have an element"));
  Shape y = {x[0], x[1]};
  y.insert(y.end(), grid.begin() + 1, grid.end() - 1);
  ctx.set_output(0, ctx.dtype(0), std::move(y));
}

Expr f32(double v) { return constant_float(DType::f32, v); }

/// Positions are reflected at both ends of [low, low + range].
struct Borders {
  Expr low, range;
};
Borders borders_of(const GridParams& params, const Dim& size) {
  const Expr n = cast(DType::f32, extent(size));
  return params.align_corners ? Borders{f32(0), n - f32(1)} : Borders{f32(-0.5), n};
}

/// Reflects x at the borders until it lies inside; gives `low` if the range is empty.
Expr reflected(const Expr& x, const Borders& b) {
  const Expr period = b.range + b.range, distance = unary(UnaryOp::abs, x - b.low);
  const Expr within = distance - period * unary(UnaryOp::floor, binary(BinaryOp::div, distance, period));
  const Expr folded = binary(BinaryOp::min, within, period - within);
  return b.low + select(binary(BinaryOp::greater, b.range, f32(0)), folded, f32(0));
}

/// A position beyond all elements; NaN is also mapped there.
constexpr double kFar = 0x1p30;

/// The position along one dimension, in elements.
Expr position_of(const GridParams& params, const Expr& n, const Dim& size) {
  const Expr length = cast(DType::f32, extent(size));
  Expr x =
      params.align_corners ? (n + f32(1)) * f32(0.5) * (length - f32(1)) : ((n + f32(1)) * length - f32(1)) * f32(0.5);
  if (params.mode == "nearest") x = unary(UnaryOp::round_even, x);
  const Borders b = borders_of(params, size);
  const Expr outside =
      binary(BinaryOp::logical_or, binary(BinaryOp::less, x, b.low), binary(BinaryOp::greater, x, b.low + b.range));
  const Expr clamped = binary(BinaryOp::max, binary(BinaryOp::min, x, length - f32(1)), f32(0));
  if (params.moves_to_border()) return select(outside, clamped, x);
  if (params.padding == "reflection") return select(outside, reflected(x, b), x);
  const Expr bounded = binary(BinaryOp::max, binary(BinaryOp::min, x, f32(kFar)), f32(-kFar));
  return select(unary(UnaryOp::is_nan, x), f32(-kFar), bounded);
}

/// An element along one dimension: its position, whether it is inside (null: always), and its weight.
struct Tap {
  Expr at, inside, weight;
};

Tap tap_at(const GridParams& params, const Expr& i, const Dim& size, const Expr& weight) {
  if (params.padding == "zeros") return {clamp_index(i, size), in_range(i, 0, size), weight};
  if (params.padding == "border") return {clamp_index(i, size), nullptr, weight};
  const Expr x = cast(DType::f32, i);
  const Borders b = borders_of(params, size);
  const Expr outside =
      binary(BinaryOp::logical_or, binary(BinaryOp::less, x, b.low), binary(BinaryOp::greater, x, b.low + b.range));
  return {clamp_index(select(outside, cast(DType::i64, reflected(x, b)), i), size), nullptr, weight};
}

std::vector<Tap> taps_of(const GridParams& params, const Expr& x, const Dim& size) {
  if (params.mode == "nearest") return {tap_at(params, cast(DType::i64, x), size, nullptr)};
  const Expr floor = unary(UnaryOp::floor, x), t = x - floor, complement = f32(1) - t, first = cast(DType::i64, floor);
  if (params.mode == "linear")
    return {tap_at(params, first, size, complement), tap_at(params, first + index(1), size, t)};
  constexpr double a = -0.75;
  const auto near = [&](const Expr& s) { return (f32(a + 2) * s - f32(a + 3)) * s * s + f32(1); };
  const auto far = [&](const Expr& s) { return ((f32(a) * s - f32(5 * a)) * s + f32(8 * a)) * s - f32(4 * a); };
  return {tap_at(params, first - index(1), size, far(t + f32(1))), tap_at(params, first, size, near(t)),
          tap_at(params, first + index(1), size, near(complement)),
          tap_at(params, first + index(2), size, far(complement + f32(1)))};
}

/// The weighted sum over the taps of dimensions `d` and up.
Expr sum_of(LowerContext& ctx, const std::vector<std::vector<Tap>>& taps, size_t d, Index& at, const Expr& inside) {
  if (d == taps.size()) {
    const Expr x = arithmetic_input(ctx, 0, at);
    return inside ? select(inside, x, number(x->dtype, 0)) : x;
  }
  Expr sum;
  for (const Tap& tap : taps[d]) {
    at[d + 2] = tap.at;
    Expr term = sum_of(ctx, taps, d + 1, at, tap.inside ? both(inside, tap.inside) : inside);
    if (tap.weight) term = term * cast(term->dtype, tap.weight);
    sum = sum ? sum + term : term;
  }
  return sum;
}

Expr lower_grid_sample(LowerContext& ctx, int output, const std::vector<Expr>& at) {
  const GridParams params = grid_params(ctx.node());
  const Shape& x = ctx.input_shape(0);
  std::vector<std::vector<Tap>> taps;
  for (size_t d = 2; d < x.size(); ++d) {
    Index where = {at[0]};
    where.insert(where.end(), at.begin() + 2, at.end());
    where.push_back(index(static_cast<int64_t>(x.size() - 1 - d)));
    taps.push_back(taps_of(params, position_of(params, cast(DType::f32, ctx.input(1, where)), x[d]), x[d]));
  }
  Index from = at;
  from.resize(x.size());
  return as_output(ctx, output, sum_of(ctx, taps, 0, from, nullptr));
}

// ---- reference

double reflect(double x, double low, double high) {
  if (high <= low) return low;
  while (x < low || x > high) x = x < low ? 2 * low - x : 2 * high - x;
  return x;
}

struct ReferenceTap {
  int64_t at;  // -1: outside
  double weight;
};

std::vector<ReferenceTap> reference_taps(const GridParams& params, double n, int64_t size) {
  const double low = params.align_corners ? 0 : -0.5,
               high = params.align_corners ? static_cast<double>(size - 1) : static_cast<double>(size) - 0.5;
  double x = low + (n + 1) / 2 * (high - low);
  if (std::isnan(x)) x = -kFar;
  if (params.mode == "nearest") x = std::nearbyint(x);
  if ((x < low || x > high) && params.moves_to_border()) x = std::min(std::max(x, 0.0), static_cast<double>(size - 1));
  if ((x < low || x > high) && params.padding == "reflection") x = reflect(x, low, high);
  const double floor = std::floor(x), t = x - floor;
  const auto tap = [&](int64_t shift, double weight) -> ReferenceTap {
    int64_t i = static_cast<int64_t>(floor) + shift;
    if (params.padding == "zeros" && (i < 0 || i >= size)) return {-1, 0};
    const auto real = static_cast<double>(i);
    if (params.padding == "reflection" && (real < low || real > high))
      i = static_cast<int64_t>(reflect(real, low, high));
    return {std::min(std::max<int64_t>(i, 0), size - 1), weight};
  };
  if (params.mode == "nearest") return {tap(0, 1)};
  if (params.mode == "linear") return {tap(0, 1 - t), tap(1, t)};
  const auto keys = [](double s) {
    s = std::fabs(s);
    return s <= 1 ? 1.25 * s * s * s - 2.25 * s * s + 1 : -0.75 * (s * s * s - 5 * s * s + 8 * s - 4);
  };
  return {tap(-1, keys(t + 1)), tap(0, keys(t)), tap(1, keys(1 - t)), tap(2, keys(2 - t))};
}

double reference_sum(const Tensor& x, const std::vector<std::vector<ReferenceTap>>& taps, size_t d,
                     std::vector<int64_t>& at) {
  if (d == taps.size()) return x.at_double(position(at, x.shape()));
  double sum = 0;
  for (const ReferenceTap& tap : taps[d]) {
    if (tap.at < 0) continue;
    at[d + 2] = tap.at;
    sum += tap.weight * reference_sum(x, taps, d + 1, at);
  }
  return sum;
}

std::vector<Tensor> reference_grid_sample(ReferenceContext& ctx) {
  const GridParams params = grid_params(ctx.node());
  const Tensor &x = *ctx.input(0), &grid = *ctx.input(1);
  const size_t dims = x.shape().size() - 2;
  std::vector<int64_t> shape = {x.shape()[0], x.shape()[1]};
  shape.insert(shape.end(), grid.shape().begin() + 1, grid.shape().end() - 1);
  Tensor y(x.dtype(), shape);
  for_each_index(shape, [&, i = int64_t{0}](std::vector<int64_t> at) mutable {
    std::vector<int64_t> where = {at[0]};
    where.insert(where.end(), at.begin() + 2, at.end());
    where.push_back(0);
    std::vector<std::vector<ReferenceTap>> taps;
    for (size_t d = 0; d < dims; ++d) {
      where.back() = static_cast<int64_t>(dims - 1 - d);
      taps.push_back(reference_taps(params, grid.at_double(position(where, grid.shape())), x.shape()[d + 2]));
    }
    at.resize(x.shape().size());
    const bool empty = element_count({x.shape().begin() + 2, x.shape().end()}) == 0;
    const double sum = empty ? 0 : reference_sum(x, taps, 0, at);
    if (is_float(y.dtype()))
      y.set_double(i++, sum);
    else
      y.set_int(i++, static_cast<int64_t>(sum));
  });
  return {std::move(y)};
}

// ---- AffineGrid: theta[N, k, k + 1] times the homogeneous coordinates of an even grid; size is [N, C, (D,) H, W]

void infer_affine_grid(InferContext& ctx) {
  if (ctx.rank(0) != 3 || ctx.rank(1) != 1 || !ctx.shape(1)[0].is_constant())
    ctx.fail("theta must be [N, k, k+1] and size a vector of known length");
  const int64_t dims = ctx.shape(1)[0].constant() - 2;
  if (dims != 2 && dims != 3) ctx.fail(concat("size has ", dims + 2, " elements, it must have 4 or 5"));
  ctx.require_equal(ctx.shape(0)[1], dims, "rows of theta");
  ctx.require_equal(ctx.shape(0)[2], dims + 1, "columns of theta");
  const auto size = ctx.contents(1);
  Shape shape = {ctx.shape(0)[0]};
  for (int64_t d = 0; d < dims; ++d)
    shape.push_back(size ? (*size)[static_cast<size_t>(d + 2)] : ctx.fresh_symbol("grid"));
  shape.push_back(dims);
  ctx.set_output(0, ctx.dtype(0), std::move(shape));
}

Expr grid_extent(LowerContext& ctx, int symbol) { return integer_input(ctx, 1, {index(symbol + 2)}); }

Expr lower_affine_grid(LowerContext& ctx, int output, const std::vector<Expr>& at) {
  const bool align = ctx.node().int_attribute("align_corners", 0) != 0;
  const Shape& y = ctx.output_shape(output);
  const size_t dims = y.size() - 2;
  const auto theta = [&](size_t column) {
    return arithmetic_input(ctx, 0, {at[0], at.back(), index(static_cast<int64_t>(column))});
  };
  Expr sum = theta(dims);
  for (size_t j = 0; j < dims; ++j) {  // column 0 belongs to the last dimension
    const size_t d = dims - j;
    const Expr i = cast(sum->dtype, at[d]), one = number(sum->dtype, 1), two = number(sum->dtype, 2);
    const Expr steps = cast(sum->dtype, extent(align ? max(y[d] - 1, 1) : y[d]));
    const Expr ahead = align ? two * i : two * i + one;
    sum = sum + theta(j) * (binary(BinaryOp::div, ahead, steps) - one);
  }
  return as_output(ctx, output, sum);
}

std::vector<Tensor> reference_affine_grid(ReferenceContext& ctx) {
  const bool align = ctx.node().int_attribute("align_corners", 0) != 0;
  const Tensor& theta = *ctx.input(0);
  const std::vector<int64_t> size = ctx.input(1)->to_ints();
  const auto dims = static_cast<int64_t>(size.size()) - 2;
  std::vector<int64_t> shape = {theta.shape()[0]};
  shape.insert(shape.end(), size.begin() + 2, size.end());
  shape.push_back(dims);
  Tensor y(theta.dtype(), shape);
  for_each_index(shape, [&, i = int64_t{0}](const std::vector<int64_t>& at) mutable {
    const int64_t row = (at[0] * dims + at.back()) * (dims + 1);
    double sum = theta.at_double(row + dims);
    for (int64_t d = 0; d < dims; ++d) {
      const auto k = static_cast<double>(at[static_cast<size_t>(d + 1)]),
                 n = static_cast<double>(size[static_cast<size_t>(d + 2)]);
      const double place = align ? (n > 1 ? 2 * k / (n - 1) - 1 : -1) : (2 * k + 1) / n - 1;
      sum += theta.at_double(row + dims - 1 - d) * place;
    }
    y.set_double(i++, sum);
  });
  return {std::move(y)};
}

}  // namespace

constinit const OpDef op_GridSample{.name = "GridSample",
                                    .since = 16,
                                    .min_inputs = 2,
                                    .max_inputs = 2,
                                    .types = {Types::numbers_and_bool, Types::floats},
                                    .kind = OpKind::reduction,
                                    .traits = {.data_inputs = 1},
                                    .infer = infer_grid_sample,
                                    .lower = lower_grid_sample,
                                    .reference = reference_grid_sample};
constinit const OpDef op_AffineGrid{.name = "AffineGrid",
                                    .since = 20,
                                    .min_inputs = 2,
                                    .max_inputs = 2,
                                    .types = {Types::floats, Types::integers},
                                    .kind = OpKind::movement,
                                    .infer = infer_affine_grid,
                                    .lower = lower_affine_grid,
                                    .data_extent = grid_extent,
                                    .reference = reference_affine_grid};

}  // namespace gcg
