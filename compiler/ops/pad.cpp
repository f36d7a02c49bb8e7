// Pad: constant, reflect, edge and wrap; negative pads crop.
#include "compiler/ops/index.h"
#include "compiler/ops/movement.h"
#include "compiler/ops/ops.h"
#include "compiler/ops/pointwise.h"
#include "compiler/ops/runtime_axes.h"

namespace gcg {
namespace {

void upgrade_pad(UpgradeContext& ctx) {
  if (ctx.version >= 11) return;
  ctx.attribute_to_input("pads", 1);
  if (!ctx.node.has_attribute("value")) return;
  const auto value = static_cast<float>(ctx.node.float_attribute("value", 0));
  ctx.node.attributes.erase("value");
  ctx.set_input(2, Tensor::from<float>(DType::f32, {}, {value}));
}

std::string mode_of(const Node& node) { return node.string_attribute("mode", "constant"); }

void infer_pad(InferContext& ctx) {
  const std::string mode = mode_of(ctx.node());
  if (mode != "constant" && mode != "reflect" && mode != "edge" && mode != "wrap")
    ctx.fail(concat("mode is '", mode, "', it must be 'constant', 'reflect', 'edge' or 'wrap'"));
  if (ctx.rank(1) != 1 || !ctx.shape(1)[0].is_constant()) ctx.fail("the number of pads must be known at compile time");
  const auto count = static_cast<size_t>(ctx.shape(1)[0].constant() / 2);
  if (!ctx.shape(1)[0].is(static_cast<int64_t>(2 * count))) ctx.fail("the pads (input 1) must be pairs");
  if (!ctx.has_input(3) && static_cast<int64_t>(count) != ctx.rank(0))
    ctx.fail(concat(2 * count, " pads for ", ctx.rank(0), " dimensions"));
  Shape shape = ctx.shape(0);
  if (ctx.has_input(3) && !ctx.int_contents(3)) {  // the axes depend on data: any dimension may be padded
    ctx.require_equal(ctx.shape(3).at(0), static_cast<int64_t>(count), "pads and axes");
    for (Dim& extent : shape) extent = ctx.fresh_symbol("padded");
    return ctx.set_output(0, ctx.dtype(0), std::move(shape));
  }
  const std::vector<int64_t> axes = axes_or_leading(ctx, 3, count, ctx.rank(0));
  const auto pads = ctx.contents(1);
  for (size_t a = 0; a < count; ++a) {
    Dim& extent = shape[static_cast<size_t>(axes[a])];
    extent = pads ? extent + (*pads)[a] + (*pads)[a + count] : ctx.fresh_symbol("padded");
  }
  ctx.set_output(0, ctx.dtype(0), std::move(shape));
}

struct PadPair {
  Expr before, after;
};

/// The pads of every dimension. Dimensions that the axes do not list have no padding.
std::vector<PadPair> pads_of(LowerContext& ctx, size_t rank) {
  const auto known = known_dims(ctx.input_value(1));
  const auto axes = ctx.has_input(3) ? known_ints(ctx.input_value(3)) : std::nullopt;
  const bool open = ctx.has_input(3) && !axes;
  const int64_t count = ctx.input_shape(1)[0].constant() / 2;
  std::vector<PadPair> pads(rank, {index(0), index(0)});
  const auto pad = [&](int64_t i) {
    return known ? extent((*known)[static_cast<size_t>(i)]) : integer_input(ctx, 1, {index(i)});
  };
  for (int64_t a = 0; a < count && open; ++a)
    for (size_t d = 0; d < rank; ++d) {
      const Expr here = names_axis(ctx, 3, a, static_cast<int64_t>(d), static_cast<int64_t>(rank));
      pads[d] = {select(here, pad(a), pads[d].before), select(here, pad(a + count), pads[d].after)};
    }
  for (int64_t a = 0; a < count && !open; ++a)
    pads[static_cast<size_t>(axes ? wrap_axis((*axes)[static_cast<size_t>(a)], static_cast<int64_t>(rank)) : a)] = {
        pad(a), pad(a + count)};
  return pads;
}

Expr padded_extent(LowerContext& ctx, int symbol) {
  const Shape& x = ctx.input_shape(0);
  const auto axes = ctx.has_input(3) ? known_ints(ctx.input_value(3)) : std::nullopt;
  const auto d = static_cast<size_t>(
      axes ? wrap_axis((*axes)[static_cast<size_t>(symbol)], static_cast<int64_t>(x.size())) : symbol);
  const PadPair pad = pads_of(ctx, x.size())[d];
  return extent(x[d]) + pad.before + pad.after;
}

bool is_at_most_zero(const Expr& e) { return e->kind == ExprKind::constant && e->integer <= 0; }

/// The input element if the index minus the pads is inside; else the constant.
Expr lower_constant_pad(LowerContext& ctx, const std::vector<Expr>& at, const std::vector<PadPair>& pads) {
  const DType dtype = ctx.output_value(0).dtype;
  Index from = at;
  Expr inside = boolean(true);
  for (size_t d = 0; d < at.size(); ++d) {
    from[d] = at[d] - pads[d].before;
    if (!is_at_most_zero(pads[d].before)) inside = both(inside, binary(BinaryOp::greater_equal, from[d], index(0)));
    if (!is_at_most_zero(pads[d].after))
      inside = both(inside, binary(BinaryOp::less, from[d], extent(ctx.input_shape(0)[d])));
  }
  const Expr value = ctx.has_input(2) ? scalar_input(ctx, 2, dtype) : number(dtype, 0);
  if (inside->kind == ExprKind::constant) return ctx.input(0, from);
  return select(inside, guarded(ctx.input(0, from)), value);
}

/// The position in [0, size) that `i` maps to.
Expr folded_position(const std::string& mode, const Expr& i, const Expr& size) {
  const Expr last = size - index(1);
  if (mode == "edge") return binary(BinaryOp::max, binary(BinaryOp::min, i, last), index(0));
  if (mode == "wrap") return binary(BinaryOp::mod, i, size);
  const Expr period = last + last;  // a single element has period 0, and modulo 0 is 0
  const Expr forth = binary(BinaryOp::mod, i, period);
  return binary(BinaryOp::min, forth, period - forth);
}

Expr lower_pad(LowerContext& ctx, int, const std::vector<Expr>& at) {
  const std::vector<PadPair> pads = pads_of(ctx, at.size());
  const std::string mode = mode_of(ctx.node());
  if (mode == "constant") return lower_constant_pad(ctx, at, pads);
  const auto positive = [](const Expr& e) { return binary(BinaryOp::max, e, index(0)); };
  Index from = at;
  for (size_t d = 0; d < at.size(); ++d) {
    if (is_at_most_zero(pads[d].before) && is_at_most_zero(pads[d].after)) {
      from[d] = at[d] - pads[d].before;
      continue;
    }
    // Negative pads crop first; the remaining elements are mirrored, stretched or repeated.
    const Expr cropped = positive(index(0) - pads[d].before), cropped_after = positive(index(0) - pads[d].after);
    const Expr size = extent(ctx.input_shape(0)[d]) - cropped - cropped_after;
    from[d] = folded_position(mode, at[d] - positive(pads[d].before), size) + cropped;
  }
  return ctx.input(0, from);
}

/// The reference walks from `i` back into [0, size) by one reflection, step or period at a time.
int64_t walk_inside(const std::string& mode, int64_t i, int64_t size) {
  while (i < 0 || i >= size) {
    if (mode == "edge" || size == 1)
      i = i < 0 ? 0 : size - 1;
    else if (mode == "wrap")
      i += i < 0 ? size : -size;
    else
      i = i < 0 ? -i : 2 * (size - 1) - i;
  }
  return i;
}

std::vector<Tensor> reference_pad(ReferenceContext& ctx) {
  const Tensor &x = *ctx.input(0), &pads = *ctx.input(1), *value = ctx.input(2), *axes = ctx.input(3);
  const std::string mode = mode_of(ctx.node());
  const int64_t count = pads.elements() / 2;
  std::vector<int64_t> before(x.shape().size(), 0), after = before, shape = x.shape();
  for (int64_t a = 0; a < count; ++a) {
    const auto d = static_cast<size_t>(axes ? wrap_axis(axes->at_int(a), x.rank()) : a);
    before[d] = pads.at_int(a);
    after[d] = pads.at_int(a + count);
    shape[d] += before[d] + after[d];
  }
  Tensor y(x.dtype(), shape);
  int64_t i = 0;
  for_each_index(shape, [&](std::vector<int64_t> at) {
    bool inside = true;
    for (size_t d = 0; d < at.size(); ++d) {
      const int64_t cropped = std::max<int64_t>(-before[d], 0),
                    size = x.shape()[d] - cropped - std::max<int64_t>(-after[d], 0);
      at[d] -= before[d];
      if (mode == "constant")
        inside = inside && at[d] >= 0 && at[d] < x.shape()[d];
      else
        at[d] = walk_inside(mode, at[d] - cropped, size) + cropped;
    }
    if (inside)
      copy_element(y, i, x, position(at, x.shape()));
    else if (value && is_float(x.dtype()))
      y.set_double(i, value->at_double(0));
    else if (value)
      y.set_int(i, value->at_int(0));
    ++i;
  });
  return {std::move(y)};
}

}  // namespace

constinit const OpDef op_Pad{.name = "Pad",
                             .since = 2,
                             .min_inputs = 2,
                             .max_inputs = 4,
                             .types = {Types::any, Types::integers, Types::as_first, Types::integers},
                             .kind = OpKind::movement,
                             .traits = {.keeps_channels = true},
                             .upgrade = upgrade_pad,
                             .infer = infer_pad,
                             .lower = lower_pad,
                             .data_extent = padded_extent,
                             .reference = reference_pad};

}  // namespace gcg
