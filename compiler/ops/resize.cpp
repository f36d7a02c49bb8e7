// Resize: nearest, linear and cubic interpolation along any dimensions; Upsample is its older name. Positions are
// computed exactly, as fractions. They are computed in f32, as in onnxruntime, in two cases: if crops or scales depend
// on data, and if f32 gives another nearest element.
#include <cmath>
#include <numeric>

#include "compiler/ops/index.h"
#include "compiler/ops/movement.h"
#include "compiler/ops/ops.h"
#include "compiler/ops/pointwise.h"
#include "compiler/ops/resize_params.h"
#include "compiler/ops/resize_reference.h"

namespace gcg {
namespace {

enum : int { kX, kRoi, kScales, kSizes };

// ---- inference

/// The value, or null if it is omitted or empty.
const Value* non_empty(const Value& value) { return value.shape && product(*value.shape).is(0) ? nullptr : &value; }

void infer_resize(InferContext& ctx) {
  const auto value = [&](int i) { return ctx.has_input(i) ? non_empty(ctx.input(i)) : nullptr; };
  const ResizeParams params = resize_params(ctx.node(), ctx.shape(kX), nullptr, value(kScales), value(kSizes));
  if (params.mode != "nearest") require_dtype(ctx, kX, Types::numbers);
  const auto count = static_cast<int64_t>(params.dims.size());
  ctx.require_equal(product(ctx.shape(value(kScales) ? kScales : kSizes)), count, "scales or sizes");
  if (params.crops()) {
    if (!value(kRoi)) ctx.fail("coordinate_transformation_mode 'tf_crop_and_resize' needs roi (input 1)");
    ctx.require_equal(product(ctx.shape(kRoi)), 2 * count, "roi (input 1)");
  }
  Shape shape = ctx.shape(kX);
  for (const ResizedDim& d : params.dims) shape[d.dim] = d.out ? *d.out : ctx.fresh_symbol("resized");
  for (const ResizedDim& d : params.dims)
    if (params.has_open_window(d)) ctx.fresh_symbol("window");
  ctx.set_output(0, ctx.dtype(kX), std::move(shape));
}

/// The common ratio of all dimensions if the sizes depend on data: that of the dimension that changes the least or the
/// most.
struct OpenRatio {
  Expr up, down;
};
OpenRatio open_ratio(LowerContext& ctx, const ResizeParams& params) {
  OpenRatio best;
  for (const ResizedDim& d : params.dims) {
    const OpenRatio candidate{integer_input(ctx, kSizes, {index(static_cast<int64_t>(d.position))}),
                              extent(max(d.in, 1))};
    if (!best.up) {
      best = candidate;
      continue;
    }
    const Expr less = binary(BinaryOp::less, candidate.up * best.down, best.up * candidate.down);
    const bool least = params.open_policy == "not_larger";
    const auto pick = [&](const Expr& a, const Expr& b) { return least ? select(less, a, b) : select(less, b, a); };
    best = {pick(candidate.up, best.up), pick(candidate.down, best.down)};
  }
  return best;
}

Expr resized_extent(LowerContext& ctx, int symbol) {
  const auto value = [&](int i) { return ctx.has_input(i) ? non_empty(ctx.input_value(i)) : nullptr; };
  const ResizeParams params = resize_params(ctx.node(), ctx.input_shape(kX), nullptr, value(kScales), value(kSizes));
  for (const ResizedDim& d : params.dims) {
    if (d.out || symbol-- > 0) continue;
    const Index at = {index(static_cast<int64_t>(d.position))};
    if (!params.open_policy.empty()) {  // rounds half up
      const OpenRatio ratio = open_ratio(ctx, params);
      const Expr twice = extent(d.in) * ratio.up * index(2) + ratio.down;
      return binary(BinaryOp::max, binary(BinaryOp::floor_div, twice, ratio.down * index(2)), index(0));
    }
    if (value(kSizes)) return integer_input(ctx, kSizes, at);
    const Expr in = cast(DType::f32, extent(d.in)), scale = cast(DType::f32, ctx.input(kScales, at));
    return cast(DType::i64, unary(UnaryOp::floor, in * scale));
  }
  for (const ResizedDim& d : params.dims) {
    if (!params.has_open_window(d) || symbol-- > 0) continue;
    const Expr scale = cast(DType::f32, ctx.input(kScales, {index(static_cast<int64_t>(d.position))}));
    // The lower limit keeps the window's size bounded.
    const Expr least = binary(BinaryOp::max, scale, constant_float(DType::f32, 0x1p-20));
    const Expr reach = binary(BinaryOp::div, constant_float(DType::f32, params.mode == "linear" ? 1 : 2),
                              binary(BinaryOp::min, least, constant_float(DType::f32, 1)));
    return cast(DType::i64, unary(UnaryOp::ceil, reach)) * index(2);
  }
  GCG_CHECK(false, "Resize has fewer open extents");
  return nullptr;
}

// ---- lowering

/// An input position and its weight; a null weight is 1.
struct Tap {
  Expr position, weight;
};
using Taps = std::vector<Tap>;

/// The input position of an output element, along one dimension.
class Source {
 public:
  Source(LowerContext& ctx, const ResizeParams& params, const ResizedDim& d, const Expr& i) : params_(params), d_(d) {
    if (d.ratio && !params.crops()) {
      line_ = source_line(params, d);
      i_ = i;
      if (params.mode == "nearest" && !takes_exact_nearest(params, d)) x_ = scaled_position(ctx, i);
    } else {
      x_ = params.crops() ? cropped_position(ctx, i) : scaled_position(ctx, i);
    }
  }

  /// True if every element stays at its position.
  bool stays() const {
    if (!line_) return false;
    const SourceLine line = params_.mode == "nearest" ? nearest_line(params_, d_, *line_) : *line_;
    return line.slope == line.divisor && line.start.is(0);
  }
  /// The same for the extents of a run; false if the position depends on data.
  Expr stays_in_run() const {
    if (!line_) return boolean(false);
    const SourceLine line = params_.mode == "nearest" ? nearest_line(params_, d_, *line_) : *line_;
    return both(binary(BinaryOp::equal, extent(line.slope), extent(line.divisor)),
                binary(BinaryOp::equal, extent(line.start), index(0)));
  }
  Expr position_inside() const {
    const Expr last = cast(DType::f32, extent(d_.in - 1));
    return binary(BinaryOp::logical_and, binary(BinaryOp::greater_equal, x_, constant_float(DType::f32, 0)),
                  binary(BinaryOp::less_equal, x_, last));
  }

  Taps taps(DType dtype) const {
    if (params_.mode == "nearest") return {{nearest(), nullptr}};
    const Expr t = fraction(dtype);
    return params_.mode == "linear" ? linear(first(), t) : cubic(first(), t);
  }

  /// With antialias: tap number `k` as an axis. The weights must be divided by their sum.
  struct Stretched {
    Axis axis;
    Tap tap;
    Expr sum;
  };
  Stretched stretched(LowerContext& ctx, DType dtype) const {
    const Axis axis = ctx.fresh_axis(d_.ratio ? window_of_ratio() : open_window(ctx)),
               again = ctx.fresh_axis(axis.extent);
    return {axis, stretched_tap(axis, dtype), reduce(ReduceOp::sum, {again}, stretched_tap(again, dtype).weight)};
  }

 private:
  static Expr f32(double value) { return constant_float(DType::f32, value); }
  static Expr f32(const Dim& value) { return cast(DType::f32, extent(value)); }

  /// The position within [start, end] of roi; both are fractions of the last element's position.
  Expr cropped_position(LowerContext& ctx, const Expr& i) const {
    const auto corner = [&](size_t k) {
      const TensorRef constant = ctx.input_value(kRoi).constant;
      const auto at = static_cast<int64_t>(k);
      return constant ? f32(constant->at_double(at)) : cast(DType::f32, ctx.input(kRoi, {index(at)}));
    };
    const Expr start = corner(d_.position), end = corner(d_.position + params_.dims.size());
    const Expr last = f32(d_.in - 1), x = cast(DType::f32, i);
    if (d_.out->is(1)) return f32(0.5) * (start + end) * last;
    const Expr many = start * last + binary(BinaryOp::div, x * (end - start) * last, f32(max(*d_.out - 1, 1)));
    if (d_.out->lower_bound().value_or(0) > 1) return many;
    return select(binary(BinaryOp::equal, extent(*d_.out), index(1)), f32(0.5) * (start + end) * last, many);
  }

  Expr read_scale(LowerContext& ctx) const {
    if (d_.scale) return f32(*d_.scale);
    if (d_.ratio) return binary(BinaryOp::div, f32(d_.ratio->up), f32(d_.ratio->down));
    if (params_.open_policy.empty())
      return cast(DType::f32, ctx.input(kScales, {index(static_cast<int64_t>(d_.position))}));
    const OpenRatio ratio = open_ratio(ctx, params_);
    return binary(BinaryOp::div, cast(DType::f32, ratio.up), cast(DType::f32, ratio.down));
  }

  /// The position, computed in f32.
  Expr scaled_position(LowerContext& ctx, const Expr& i) {
    const Expr scale = scale_ = read_scale(ctx);
    const Expr x = cast(DType::f32, i), in = f32(d_.in), half = f32(0.5);
    const auto over = [](const Expr& a, const Expr& b) { return binary(BinaryOp::div, a, b); };
    const std::string& how = params_.coordinates;
    if (how == "asymmetric") return over(x, scale);
    if (how == "tf_half_pixel_for_nn") return over(x + half, scale);
    if (how == "align_corners") {
      const Expr distance = scale * in - f32(1);
      return select(binary(BinaryOp::greater, distance, f32(0)), over(x * f32(d_.in - 1), distance), f32(0));
    }
    const Expr ratio = over(x + half, scale), centre = ratio - half;
    // The operations have onnxruntime's order: where the position is a whole number, rounding decides which element is
    // the nearest.
    if (how == "half_pixel_symmetric") return half * in * (f32(1) - over(f32(*d_.out), scale * in)) + ratio - half;
    if (how == "pytorch_half_pixel") return select(binary(BinaryOp::equal, extent(*d_.out), index(1)), f32(0), centre);
    return centre;
  }

  Expr numerator(const SourceLine& line) const { return extent(line.slope) * i_ + extent(line.start); }
  Expr floor_of(const SourceLine& line) const {
    return binary(BinaryOp::floor_div, numerator(line), extent(line.divisor));
  }

  /// The distance from the position's floor, in [0, 1).
  Expr fraction(DType dtype) const {
    if (!line_) return cast(dtype, x_ - unary(UnaryOp::floor, x_));
    const Expr rest = binary(BinaryOp::mod, numerator(*line_), extent(line_->divisor));
    return binary(BinaryOp::div, cast(dtype, rest), cast(dtype, extent(line_->divisor)));
  }

  /// The last element at or before the position.
  Expr first() const { return line_ ? floor_of(same_floors(*line_)) : cast(DType::i64, unary(UnaryOp::floor, x_)); }

  Dim window_of_ratio() const {
    const Dim& up = d_.ratio->up;
    return ceil_div(max(up, d_.ratio->down) * (params_.mode == "linear" ? 1 : 2), up) * 2;
  }
  /// The windows' symbols are the last ones, in the order of their dimensions.
  Dim open_window(const LowerContext& ctx) const {
    size_t from_end = 0;
    for (const ResizedDim& d : params_.dims)
      from_end += params_.has_open_window(d) && d.position >= d_.position ? 1 : 0;
    const std::vector<std::string> symbols = ctx.node().strings_attribute(kSymbolsAttribute);
    return Dim::symbol(symbols.at(symbols.size() - from_end));
  }

  Tap stretched_tap(const Axis& axis, DType dtype) const {
    const auto n = [&](double value) { return number(dtype, value); };
    const Expr k = axis_ref(axis) - extent(floor_div(axis.extent, 2) - 1), at = first() + k;
    const Expr ratio =
        !d_.ratio ? cast(dtype, scale_)
                  : binary(BinaryOp::div, cast(dtype, extent(d_.ratio->up)), cast(dtype, extent(d_.ratio->down)));
    const Expr s = unary(UnaryOp::abs, (cast(dtype, k) - fraction(dtype)) * binary(BinaryOp::min, ratio, n(1)));
    const double a = params_.cubic_a;
    const Expr far = ((n(a) * s - n(5 * a)) * s + n(8 * a)) * s - n(4 * a),
               near = (n(a + 2) * s - n(a + 3)) * s * s + n(1);
    Expr weight = binary(BinaryOp::max, n(1) - s, n(0));
    if (params_.mode == "cubic")
      weight = select(binary(BinaryOp::less_equal, s, n(1)), near, select(binary(BinaryOp::less, s, n(2)), far, n(0)));
    if (params_.exclude_outside) weight = select(in_range(at, 0, d_.in), weight, n(0));
    return {clamp_index(at, d_.in), weight};
  }

  Expr nearest() const {
    if (x_) return clamp_index(cast(DType::i64, rounded()), d_.in);
    const SourceLine line = nearest_line(params_, d_, *line_);
    const Dim last = line.slope * (*d_.out - 1) + line.start;
    const bool inside =
        line.start.lower_bound().value_or(-1) >= 0 && (line.divisor * d_.in - 1 - last).lower_bound().value_or(-1) >= 0;
    return inside ? floor_of(line) : clamp_index(floor_of(line), d_.in);
  }

  Expr rounded() const {
    if (params_.nearest == "floor") return unary(UnaryOp::floor, x_);
    if (params_.nearest == "ceil") return unary(UnaryOp::ceil, x_);
    if (params_.nearest == "round_prefer_ceil") return unary(UnaryOp::floor, x_ + f32(0.5));
    if (params_.nearest == "simple" && scale_)
      return select(binary(BinaryOp::less, scale_, f32(1)), unary(UnaryOp::ceil, x_), unary(UnaryOp::floor, x_));
    return unary(UnaryOp::ceil, x_ - f32(0.5));
  }

  Taps linear(const Expr& first, const Expr& t) const {
    return {{clamp_index(first, d_.in), number(t->dtype, 1) - t}, {clamp_index(first + index(1), d_.in), t}};
  }

  Taps cubic(const Expr& first, const Expr& t) const {
    const auto n = [&](double value) { return number(t->dtype, value); };
    const double a = params_.cubic_a;
    const auto near = [&](const Expr& s) { return (n(a + 2) * s - n(a + 3)) * s * s + n(1); };
    const auto far = [&](const Expr& s) { return ((n(a) * s - n(5 * a)) * s + n(8 * a)) * s - n(4 * a); };
    const Expr rest = n(1) - t;
    Taps taps = {{first - index(1), far(t + n(1))},
                 {first, near(t)},
                 {first + index(1), near(rest)},
                 {first + index(2), far(rest + n(1))}};
    if (params_.exclude_outside) drop_outside(taps);
    for (Tap& tap : taps) tap.position = clamp_index(tap.position, d_.in);
    return taps;
  }

  /// Removes taps outside of the input, and rescales the weights of the others to a sum of 1.
  void drop_outside(Taps& taps) const {
    Expr sum;
    for (Tap& tap : taps) {
      tap.weight = select(in_range(tap.position, 0, d_.in), tap.weight, number(tap.weight->dtype, 0));
      sum = sum ? sum + tap.weight : tap.weight;
    }
    for (Tap& tap : taps) tap.weight = binary(BinaryOp::div, tap.weight, sum);
  }

  const ResizeParams& params_;
  const ResizedDim& d_;
  std::optional<SourceLine> line_;
  Expr i_;      // with a line
  Expr x_;      // the position in f32, if there is no line or if f32 decides which element is nearest
  Expr scale_;  // of x_
};

/// The weighted sum over all taps of the dimensions from `k` on.
Expr sum_of_taps(LowerContext& ctx, const std::vector<std::pair<size_t, Taps>>& taps, size_t k, Index& at,
                 DType dtype) {
  if (k == taps.size()) return cast(dtype, ctx.input(kX, at));
  Expr sum;
  for (const Tap& tap : taps[k].second) {
    at[taps[k].first] = tap.position;
    Expr term = sum_of_taps(ctx, taps, k + 1, at, dtype);
    if (tap.weight) term = tap.weight * term;
    sum = sum ? sum + term : term;
  }
  return sum;
}

/// Moves the sum away from 0 by more than the f32 error of sums of bytes. Casts to integers truncate, and a whole
/// number must keep its value.
Expr nudged(const Expr& sum) {
  const Expr little = number(sum->dtype, 0x1p-12);
  return select(binary(BinaryOp::less, sum, number(sum->dtype, 0)), sum - little, sum + little);
}

Expr lower_resize(LowerContext& ctx, int output, const std::vector<Expr>& at) {
  const auto value = [&](int i) { return ctx.has_input(i) ? non_empty(ctx.input_value(i)) : nullptr; };
  const ResizeParams params =
      resize_params(ctx.node(), ctx.input_shape(kX), &ctx.output_shape(output), value(kScales), value(kSizes));
  const DType stored = ctx.output_value(output).dtype;
  const DType dtype = params.mode == "nearest" ? stored : stored == DType::f64 ? DType::f64 : DType::f32;
  std::vector<std::pair<size_t, Taps>> taps;
  std::vector<Axis> axes;
  Expr inside = boolean(true), stays = boolean(true), weights;
  for (const ResizedDim& d : params.dims) {
    const Source source(ctx, params, d, at[d.dim]);
    if (params.crops()) inside = both(inside, source.position_inside());
    if (source.stays()) continue;
    stays = both(stays, source.stays_in_run());
    if (!params.antialias) {
      taps.emplace_back(d.dim, source.taps(dtype));
      continue;
    }
    const Source::Stretched s = source.stretched(ctx, dtype);
    taps.emplace_back(d.dim, Taps{s.tap});
    axes.push_back(s.axis);
    weights = weights ? weights * s.sum : s.sum;
  }
  Index from = at;
  Expr sum = reduce_over(ReduceOp::sum, axes, sum_of_taps(ctx, taps, 0, from, dtype));
  if (weights) sum = binary(BinaryOp::div, sum, weights);
  if (params.mode != "nearest" && !is_float(stored)) sum = nudged(sum);
  Expr y = as_output(ctx, output, sum);
  // Models that resize inputs to a fixed size often get inputs of that size, so unchanged elements are copied.
  if (!params.antialias) y = select(stays, guarded(ctx.input(kX, at)), y);
  return inside->kind == ExprKind::constant ? y : select(inside, y, number(stored, params.extrapolation));
}

}  // namespace

constinit const OpDef op_Resize{
    .name = "Resize",
    .since = 10,
    .min_inputs = 1,
    .max_inputs = 4,
    .types = {Types::numbers_and_bool, Types::floats, Types::floats, Types::integers},
    .kind = OpKind::reduction,
    .traits = {.reads = Reads::window, .narrow = Narrow::links, .keeps_channels = true, .data_inputs = 1},
    .upgrade = upgrade_resize,
    .infer = infer_resize,
    .lower = lower_resize,
    .data_extent = resized_extent,
    .reference = reference_resize};

/// An operator that exists only in imported models; the upgrade rewrites it as a Resize.
constinit const OpDef op_Upsample{.name = "Upsample",
                                  .since = 7,
                                  .min_inputs = 1,
                                  .max_inputs = 2,
                                  .types = {Types::numbers_and_bool, Types::floats},
                                  .kind = OpKind::reduction,
                                  .upgrade = upgrade_upsample,
                                  .infer = infer_resize,
                                  .lower = lower_resize,
                                  .reference = reference_resize};

}  // namespace gcg
