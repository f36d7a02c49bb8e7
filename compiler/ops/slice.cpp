// Slice: starts, ends, axes and steps, with numpy's clamping.
#include <algorithm>
#include <limits>

#include "compiler/ops/index.h"
#include "compiler/ops/movement.h"
#include "compiler/ops/ops.h"

namespace gcg {
namespace {

/// Bounds at or beyond this mean "to the very end"; exporters write the largest i32 or i64.
constexpr int64_t kUnbounded = std::numeric_limits<int32_t>::max();

void upgrade_slice(UpgradeContext& ctx) {
  if (ctx.version >= 10) return;
  ctx.attribute_to_input("starts", 1);
  ctx.attribute_to_input("ends", 2);
  ctx.attribute_to_input("axes", 3);
}

/// `bound` counted from the front and clamped to [low, high]; nullopt when its sign is not known.
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

/// The elements start, start + step, ... of a dimension that `start`:`end`:`step` names.
std::optional<SliceRange> resolve_range(const Dim& start, const Dim& end, int64_t step, const Dim& extent) {
  const bool forward = step > 0;
  step = std::clamp(step, -kUnbounded, kUnbounded);
  const Dim nearest =
      forward ? Dim(0) : min(Dim(0), extent - 1);  // nothing to start from: before the front, like the end
  const auto first = resolve_bound(start, extent, nearest, forward ? extent : extent - 1);
  const auto last = resolve_bound(end, extent, forward ? 0 : -1, forward ? extent : extent - 1);
  if (!first || !last) return std::nullopt;
  Dim distance = forward ? *last - *first : *first - *last;
  if (distance.lower_bound().value_or(-1) < 0) distance = max(distance, 0);
  return SliceRange{*first, ceil_div(distance, forward ? step : -step)};
}

std::vector<int64_t> slice_axes(const Node& node, const Value* axes, size_t count, int64_t rank) {
  std::vector<int64_t> result;
  const auto values = axes ? known_ints(*axes) : std::nullopt;
  GCG_CHECK(!axes || values, node.name, ": axes that inference has seen");
  for (size_t a = 0; a < count; ++a) result.push_back(values ? wrap_axis((*values)[a], rank) : static_cast<int64_t>(a));
  return result;
}

std::vector<int64_t> slice_steps(const InferContext& ctx, size_t count) {
  if (!ctx.has_input(4)) return std::vector<int64_t>(count, 1);
  const auto steps = ctx.int_contents(4);
  if (!steps) ctx.fail("the steps (input 4) must be known at compile time");
  if (steps->size() != count) ctx.fail(concat(steps->size(), " steps for ", count, " starts"));
  for (int64_t s : *steps)
    if (s == 0) ctx.fail("a step is 0");
  return *steps;
}

void slice_contents(InferContext& ctx, const std::vector<std::optional<SliceRange>>& ranges,
                    const std::vector<int64_t>& steps) {
  const auto from = ctx.contents(0);
  if (!from || ctx.rank(0) != 1) return;
  if (ranges.empty()) return ctx.set_contents(0, *from);
  if (!ranges[0] || !ranges[0]->start.is_constant() || !ranges[0]->length.is_constant()) return;
  std::vector<Dim> to;
  for (int64_t i = 0; i < ranges[0]->length.constant(); ++i)
    to.push_back((*from)[static_cast<size_t>(ranges[0]->start.constant() + i * steps[0])]);
  ctx.set_contents(0, std::move(to));
}

void infer_slice(InferContext& ctx) {
  if (ctx.rank(1) != 1 || !ctx.shape(1)[0].is_constant())
    ctx.fail("the number of starts must be known at compile time");
  const auto count = static_cast<size_t>(ctx.shape(1)[0].constant());
  ctx.require_equal(ctx.shape(2).at(0), ctx.shape(1)[0], "starts and ends");
  const std::vector<int64_t> axes = axes_or_leading(ctx, 3, count, ctx.rank(0)), steps = slice_steps(ctx, count);
  const auto starts = ctx.contents(1), ends = ctx.contents(2);
  Shape shape = ctx.shape(0);
  std::vector<std::optional<SliceRange>> ranges;
  for (size_t a = 0; a < count; ++a) {
    Dim& extent = shape[static_cast<size_t>(axes[a])];
    ranges.push_back(starts && ends ? resolve_range((*starts)[a], (*ends)[a], steps[a], extent) : std::nullopt);
    extent = ranges.back() ? ranges.back()->length : ctx.fresh_symbol("sliced");
  }
  ctx.set_output(0, ctx.dtype(0), std::move(shape));
  slice_contents(ctx, ranges, steps);
}

/// Where a slice begins whose bounds are only known at run time.
Expr runtime_start(LowerContext& ctx, int64_t a, const Dim& size, bool forward) {
  const Expr start = integer_input(ctx, 1, {index(a)});
  const Expr from_front = select(binary(BinaryOp::less, start, index(0)), start + extent(size), start);
  return binary(BinaryOp::max, binary(BinaryOp::min, from_front, extent(forward ? size : size - 1)), index(0));
}

Expr lower_slice(LowerContext& ctx, int, const std::vector<Expr>& at) {
  const auto starts = known_dims(ctx.input_value(1)), ends = known_dims(ctx.input_value(2));
  const auto count = static_cast<size_t>(ctx.input_shape(1)[0].constant());
  const auto axes =
      slice_axes(ctx.node(), ctx.has_input(3) ? &ctx.input_value(3) : nullptr, count, static_cast<int64_t>(at.size()));
  const auto steps = ctx.has_input(4) ? *known_ints(ctx.input_value(4)) : std::vector<int64_t>(count, 1);
  Index from = at;
  for (size_t a = 0; a < count; ++a) {
    const auto d = static_cast<size_t>(axes[a]);
    const Dim& size = ctx.input_shape(0)[d];
    const auto range = starts && ends ? resolve_range((*starts)[a], (*ends)[a], steps[a], size) : std::nullopt;
    const Expr start = range ? extent(range->start) : runtime_start(ctx, static_cast<int64_t>(a), size, steps[a] > 0);
    from[d] = start + at[d] * index(std::clamp(steps[a], -kUnbounded, kUnbounded));
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

constinit const OpDef op_Slice{.name = "Slice",
                               .since = 1,
                               .min_inputs = 3,
                               .max_inputs = 5,
                               .kind = OpKind::movement,
                               .upgrade = upgrade_slice,
                               .infer = infer_slice,
                               .lower = lower_slice,
                               .reference = reference_slice};

}  // namespace gcg
