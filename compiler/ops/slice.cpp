// Slice: starts, ends, axes and steps, clamped as in numpy.
#include <algorithm>
#include <initializer_list>
#include <limits>

#include "compiler/ops/index.h"
#include "compiler/ops/movement.h"
#include "compiler/ops/ops.h"
#include "compiler/ops/runtime_axes.h"

namespace gcg {
namespace {

/// Bounds at or beyond this number mean "to the very end"; exporters write the largest i32 or i64.
constexpr int64_t kUnbounded = std::numeric_limits<int32_t>::max();

void upgrade_slice(UpgradeContext& ctx) {
  if (ctx.version >= 10) return;
  ctx.attribute_to_input("starts", 1);
  ctx.attribute_to_input("ends", 2);
  ctx.attribute_to_input("axes", 3);
}

/// `bound`, counted from the front and clamped to [low, high]; nullopt if its sign is unknown.
std::optional<Dim> resolve_bound(const Dim& bound, const Dim& extent, const Dim& low, const Dim& high) {
  if (bound.is_constant() && bound.constant() >= kUnbounded) return high;
  if (bound.is_constant() && bound.constant() <= -kUnbounded) return low;
  if (bound.lower_bound().value_or(-1) >= 0) return min(bound, high);
  if (bound.upper_bound().value_or(0) < 0) return max(bound + extent, low);
  return std::nullopt;
}

struct SliceRange {
  Dim start, length;
};

/// The elements start, start + step, ... of a dimension that `start`:`end`:`step` selects.
std::optional<SliceRange> resolve_range(const Dim& start, const Dim& end, int64_t step, const Dim& extent) {
  const bool forward = step > 0;
  step = std::clamp(step, -kUnbounded, kUnbounded);
  // An empty dimension has no last element. A backward range then starts before the front, where it also ends.
  const Dim nearest = forward ? Dim(0) : min(Dim(0), extent - 1);
  const auto first = resolve_bound(start, extent, nearest, forward ? extent : extent - 1);
  const auto last = resolve_bound(end, extent, forward ? 0 : -1, forward ? extent : extent - 1);
  if (!first || !last) return std::nullopt;
  Dim distance = forward ? *last - *first : *first - *last;
  if (distance.lower_bound().value_or(-1) < 0) distance = max(distance, 0);
  return SliceRange{*first, ceil_div(distance, forward ? step : -step)};
}

/// One dimension of the input, with the node's parameters for it.
struct SlicedDim {
  size_t dim;
  std::optional<size_t> entry;      // the dimension's index in starts, ends and steps; nullopt: the axes depend on data
  std::optional<int64_t> step;      // nullopt: the step depends on data
  std::optional<SliceRange> range;  // nullopt: the range depends on data
};

/// The number of dimensions that the node lists. If no operand has a known extent, it is 1, because exporters then
/// write the vector as a slice of another one. A scalar counts as a vector of one element: tf2onnx writes it and
/// onnxruntime accepts it.
size_t count_of(std::initializer_list<const Value*> operands) {
  for (const Value* v : operands)
    if (v != nullptr && !v->shape->empty() && v->shape->at(0).is_constant())
      return static_cast<size_t>(v->shape->at(0).constant());
  return 1;
}

/// The dimensions that the node lists. If the axes depend on data, all dimensions. `axes` and `steps` may be null.
std::vector<SlicedDim> sliced_dims(const Node& node, const Shape& x, const Value& starts, const Value& ends,
                                   const Value* axes, const Value* steps) {
  std::vector<SlicedDim> dims;
  const size_t count = count_of({&starts, &ends, axes, steps});
  const auto named = axes ? known_ints(*axes) : std::nullopt;
  const auto first = known_dims(starts), last = known_dims(ends);
  const auto stride = steps ? known_ints(*steps) : std::vector<int64_t>(count, 1);
  if (axes && !named) {
    for (size_t d = 0; d < x.size(); ++d) dims.push_back({d, std::nullopt, std::nullopt, std::nullopt});
    return dims;
  }
  for (size_t a = 0; a < count; ++a) {
    SlicedDim dim{named ? static_cast<size_t>(wrap_axis((*named)[a], static_cast<int64_t>(x.size()))) : a, a, {}, {}};
    if (stride) dim.step = (*stride)[a];
    if (dim.step == 0) fail_node(node, "a step is 0");
    if (dim.step && first && last) dim.range = resolve_range((*first)[a], (*last)[a], *dim.step, x[dim.dim]);
    dims.push_back(std::move(dim));
  }
  return dims;
}

void slice_contents(InferContext& ctx, const std::vector<SlicedDim>& dims) {
  const auto from = ctx.contents(0);
  if (!from || ctx.rank(0) != 1) return;
  if (dims.empty()) return ctx.set_contents(0, *from);
  const auto& range = dims[0].range;
  if (!range || !range->start.is_constant() || !range->length.is_constant()) return;
  std::vector<Dim> to;
  for (int64_t i = 0; i < range->length.constant(); ++i)
    to.push_back((*from)[static_cast<size_t>(range->start.constant() + i * *dims[0].step)]);
  ctx.set_contents(0, std::move(to));
}

/// The length of a range that depends on data.
Dim open_length(InferContext& ctx, const SlicedDim& d) {
  const Dim length = ctx.fresh_symbol("sliced");
  const bool one_by_one = d.entry && d.step == 1 && ctx.node().has_attribute(kMostSliced);
  return one_by_one ? min(length, Dim(ctx.node().int_attribute(kMostSliced, 0))) : length;
}

void infer_slice(InferContext& ctx) {
  const auto input = [&](int i) { return ctx.has_input(i) ? &ctx.input(i) : nullptr; };
  for (int i : {1, 2, 3, 4})
    if (ctx.has_input(i) && ctx.rank(i) > 1) ctx.fail(concat("input ", i, " must be a vector"));
  const size_t count = count_of({input(1), input(2), input(3), input(4)});
  for (int i : {1, 2, 3, 4})
    if (ctx.has_input(i) && ctx.rank(i) == 1)
      ctx.require_equal(ctx.shape(i)[0], static_cast<int64_t>(count), "starts, ends, axes and steps");
  if (!ctx.has_input(3) || ctx.int_contents(3)) axes_or_leading(ctx, 3, count, ctx.rank(0));  // checks the axes
  const std::vector<SlicedDim> dims = sliced_dims(ctx.node(), ctx.shape(0), *input(1), *input(2), input(3), input(4));
  Shape shape = ctx.shape(0);
  for (const SlicedDim& d : dims) shape[d.dim] = d.range ? d.range->length : open_length(ctx, d);
  ctx.set_output(0, ctx.dtype(0), std::move(shape));
  slice_contents(ctx, dims);
}

std::vector<SlicedDim> sliced_dims(LowerContext& ctx) {
  const auto input = [&](int i) { return ctx.has_input(i) ? &ctx.input_value(i) : nullptr; };
  return sliced_dims(ctx.node(), ctx.input_shape(0), *input(1), *input(2), input(3), input(4));
}

/// The range of a dimension, if parts of it are only known at run time.
struct RuntimeRange {
  Expr start, end, step;
};
RuntimeRange runtime_range(LowerContext& ctx, const SlicedDim& d) {
  const auto bounded = [](const Expr& step) {
    return binary(BinaryOp::max, binary(BinaryOp::min, step, index(kUnbounded)), index(-kUnbounded));
  };
  const auto entry = [&](size_t a) -> RuntimeRange {
    const auto element = [&](int i) {
      return integer_input(ctx, i, Index(ctx.input_shape(i).size(), index(static_cast<int64_t>(a))));
    };
    const Expr step = d.step ? index(*d.step) : ctx.has_input(4) ? element(4) : index(1);
    return {element(1), element(2), bounded(step)};
  };
  if (d.entry) return entry(*d.entry);
  RuntimeRange range = {index(0), extent(ctx.input_shape(0)[d.dim]), index(1)};
  const auto rank = static_cast<int64_t>(ctx.input_shape(0).size());
  const auto input = [&](int i) { return ctx.has_input(i) ? &ctx.input_value(i) : nullptr; };
  for (size_t a = 0; a < count_of({input(1), input(2), input(3), input(4)}); ++a) {
    const Expr here = names_axis(ctx, 3, static_cast<int64_t>(a), static_cast<int64_t>(d.dim), rank);
    const RuntimeRange e = entry(a);
    range = {select(here, e.start, range.start), select(here, e.end, range.end), select(here, e.step, range.step)};
  }
  return range;
}

Expr clamped(const Expr& e, const Expr& low, const Expr& high) {
  return binary(BinaryOp::max, binary(BinaryOp::min, e, high), low);
}
Expr from_front(const Expr& bound, const Dim& size) {
  return select(binary(BinaryOp::less, bound, index(0)), bound + extent(size), bound);
}
Expr is_forward(const RuntimeRange& range) { return binary(BinaryOp::greater, range.step, index(0)); }

/// The first element of a range that is only known at run time; inside the input if the range has an element.
Expr runtime_start(const RuntimeRange& range, const Dim& size) {
  const Expr last = select(is_forward(range), extent(size), extent(size - 1));
  return clamped(from_front(range.start, size), index(0), last);
}

Expr sliced_extent(LowerContext& ctx, int symbol) {
  for (const SlicedDim& d : sliced_dims(ctx)) {
    if (d.range || symbol-- > 0) continue;
    const Dim& size = ctx.input_shape(0)[d.dim];
    const RuntimeRange range = runtime_range(ctx, d);
    const Expr forward = is_forward(range), start = runtime_start(range, size);
    const Expr end = clamped(from_front(range.end, size), select(forward, index(0), index(-1)), extent(size));
    const Expr distance = select(forward, end - start, start - end), step = unary(UnaryOp::abs, range.step);
    const Expr length = binary(BinaryOp::div, binary(BinaryOp::max, distance, index(0)) + step - index(1), step);
    return binary(BinaryOp::min, length, extent(size));
  }
  GCG_CHECK(false, "Slice has fewer open extents");
}

Expr lower_slice(LowerContext& ctx, int, const std::vector<Expr>& at) {
  Index from = at;
  for (const SlicedDim& d : sliced_dims(ctx)) {
    if (d.range) {
      from[d.dim] = extent(d.range->start) + at[d.dim] * index(std::clamp(*d.step, -kUnbounded, kUnbounded));
      continue;
    }
    const RuntimeRange range = runtime_range(ctx, d);
    from[d.dim] = runtime_start(range, ctx.input_shape(0)[d.dim]) + at[d.dim] * range.step;
  }
  return ctx.input(0, from);
}

std::vector<Tensor> reference_slice(ReferenceContext& ctx) {
  const Tensor &x = *ctx.input(0), *axes = ctx.input(3), *steps = ctx.input(4);
  std::vector<int64_t> shape = x.shape(), first(shape.size(), 0), stride(shape.size(), 1);
  for (int64_t a = 0; a < ctx.input(1)->elements(); ++a) {
    const auto d = static_cast<size_t>(wrap_axis(axes ? axes->at_int(a) : a, x.rank()));
    const int64_t extent = x.shape()[d], step = std::clamp(steps ? steps->at_int(a) : 1, -extent - 1, extent + 1);
    const auto from_front = [&](int64_t v) { return v < 0 ? std::max(v, -extent - 1) + extent : v; };
    const int64_t start = from_front(ctx.input(1)->at_int(a)), end = from_front(ctx.input(2)->at_int(a));
    first[d] = step > 0 ? std::clamp<int64_t>(start, 0, extent) : std::max<int64_t>(std::min(start, extent - 1), 0);
    stride[d] = step;
    shape[d] = 0;
    for (int64_t i = first[d]; i >= 0 && i < extent && (step > 0 ? i < end : i > end); i += step) ++shape[d];
  }
  return {rearranged(x, shape, [&](std::vector<int64_t> at) {
    for (size_t d = 0; d < at.size(); ++d) at[d] = first[d] + at[d] * stride[d];
    return at;
  })};
}

}  // namespace

constinit const OpDef op_Slice{
    .name = "Slice",
    .since = 1,
    .min_inputs = 3,
    .max_inputs = 5,
    .types = {Types::any, Types::integers},
    .kind = OpKind::movement,
    .traits = {.cost = Cost::cheap, .keeps_channels = true, .is_strided = true, .data_inputs = 1},
    .upgrade = upgrade_slice,
    .infer = infer_slice,
    .lower = lower_slice,
    .data_extent = sliced_extent,
    .reference = reference_slice};

}  // namespace gcg
