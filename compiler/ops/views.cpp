// Operators that change the shape, but not the elements or their row-major order.
#include "compiler/ops/views.h"

#include <algorithm>

#include "compiler/ops/index.h"
#include "compiler/ops/op_support.h"
#include "compiler/ops/ops.h"
#include "compiler/ops/runtime_axes.h"

namespace gcg {

std::vector<int64_t> axes_input(const InferContext& ctx, int i, int64_t rank) {
  const auto values = ctx.int_contents(i);
  if (!values) ctx.fail(concat("the axes (input ", i, ") must be known at compile time"));
  std::vector<int64_t> axes;
  for (int64_t a : *values) axes.push_back(ctx.axis(a, rank));
  std::sort(axes.begin(), axes.end());
  if (const auto twice = std::adjacent_find(axes.begin(), axes.end()); twice != axes.end())
    ctx.fail(concat("axis ", *twice, " is named twice"));
  return axes;
}

void keep_contents(InferContext& ctx) {
  if (auto contents = ctx.contents(0)) ctx.set_contents(0, std::move(*contents));
}

Expr lower_view(LowerContext& ctx, int output, const std::vector<Expr>& at) {
  return ctx.input(0, reshape_index(at, ctx.output_shape(output), ctx.input_shape(0)));
}

namespace {

/// Sets the viewed shape. Contents are kept if the result is a scalar or a vector.
void set_view(InferContext& ctx, Shape shape) {
  const bool small = shape.size() <= 1;
  ctx.set_output(0, ctx.dtype(0), std::move(shape));
  if (small) keep_contents(ctx);
}

// ---- Reshape

/// product(total) / product(part). Equal extents are cancelled first. So [b, s, 768] over [b, s, 12] gives 64 for every
/// b, even if b or s may be 0.
Dim remaining_extent(Shape total, const Shape& part) {
  Dim divisor = 1;
  for (const Dim& d : part) {
    const auto same = std::find(total.begin(), total.end(), d);
    if (same != total.end())
      total.erase(same);
    else
      divisor = divisor * d;
  }
  return divisor.is(1) ? product(total) : floor_div(product(total), divisor);
}

/// The target with each 0 replaced by the copied extent (unless `allowzero`); -1 stays.
Shape copied_extents(const InferContext& ctx, const std::vector<Dim>& target, bool allowzero) {
  Shape out;
  for (size_t d = 0; d < target.size(); ++d) {
    if (!target[d].is(0) || allowzero) {
      if (target[d].is_constant() && target[d].constant() < -1)
        ctx.fail(concat("element ", d, " of the new shape is ", target[d].constant(), ", the least allowed is -1"));
      out.push_back(target[d]);
      continue;
    }
    if (d >= ctx.shape(0).size())
      ctx.fail(
          concat("element ", d, " of the new shape is 0 (copy), but the input has only ", ctx.rank(0), " dimensions"));
    out.push_back(ctx.shape(0)[d]);
  }
  return out;
}

Shape reshaped(InferContext& ctx, const std::vector<Dim>& target) {
  const bool allowzero = ctx.node().int_attribute("allowzero", 0) != 0;
  Shape out = copied_extents(ctx, target, allowzero);
  const auto is_open = [](const Dim& d) { return d.is(-1); };
  const auto open = std::find_if(out.begin(), out.end(), is_open);
  if (open != out.end()) {
    if (std::find_if(open + 1, out.end(), is_open) != out.end()) ctx.fail("the new shape has more than one -1");
    Shape known(out.begin(), open);
    known.insert(known.end(), open + 1, out.end());
    if (allowzero && product(known).is(0)) ctx.fail("the new shape has both 0 and -1");
    *open = remaining_extent(ctx.shape(0), known);
  }
  ctx.require_equal(product(ctx.shape(0)), product(out),
                    concat("elements before and after, ", str(ctx.shape(0)), " to ", str(out)));
  return out;
}

/// Before opset 5 the shape is an attribute.
void upgrade_reshape(UpgradeContext& ctx) {
  if (ctx.version < 5) ctx.attribute_to_input("shape", 1);
}

void infer_reshape(InferContext& ctx) {
  if (ctx.rank(1) != 1) ctx.fail("the new shape (input 1) must be a vector");
  if (const auto target = ctx.contents(1)) return set_view(ctx, reshaped(ctx, *target));
  if (!ctx.shape(1)[0].is_constant())
    ctx.fail("the number of dimensions of the new shape is not known at compile time");
  Shape out;
  for (const auto& known : ctx.known_contents(1)) {
    // Requests a symbol for a known extent, too, so that every dimension always gets the same symbol.
    const Dim symbol = ctx.fresh_symbol("reshaped");
    out.push_back(known && known->lower_bound().value_or(0) > 0 ? *known : symbol);  // 0 and -1 have special meanings
  }
  ctx.require_equal(product(ctx.shape(0)), product(out), "elements before and after");
  set_view(ctx, std::move(out));
}

Expr reshaped_extent(LowerContext& ctx, int symbol) {
  const Shape& x = ctx.input_shape(0);
  const auto is = [](const Expr& e, int64_t value) { return binary(BinaryOp::equal, e, index(value)); };
  const auto rank = static_cast<int64_t>(x.size()), new_rank = ctx.input_shape(1)[0].constant();
  const bool zero_copies = ctx.node().int_attribute("allowzero", 0) == 0;
  const auto requested = [&](int64_t d) { return integer_input(ctx, 1, {index(d)}); };
  const auto size = [&](int64_t d) { return extent(x[static_cast<size_t>(d)]); };
  // A copied dimension occurs on both sides. It is left out, because it may be empty.
  Expr elements = index(1), others = index(1);
  for (int64_t d = 0; d < std::max(rank, new_rank); ++d) {
    const Expr copied = d < new_rank && zero_copies ? is(requested(d), 0) : boolean(false);
    if (d < rank) elements = elements * select(copied, index(1), size(d));
    if (d < new_rank && d != symbol) others = others * select(copied, index(1), requested(d));
  }
  const Expr requested_extent = requested(symbol), open = binary(BinaryOp::div, elements, others);
  const Expr copied_extent =
      zero_copies && symbol < rank ? select(is(requested_extent, 0), size(symbol), requested_extent) : requested_extent;
  return select(is(requested_extent, -1), open, copied_extent);
}

std::vector<Tensor> reference_reshape(ReferenceContext& ctx) {
  const Tensor& x = *ctx.input(0);
  std::vector<int64_t> shape = ctx.input(1)->to_ints();
  int64_t copied_count = 1, known = 1, open = -1;  // the number of elements outside of copied dimensions
  std::vector<bool> copied(x.shape().size(), false);
  for (size_t d = 0; d < shape.size(); ++d) {
    if (shape[d] == 0 && ctx.node().int_attribute("allowzero", 0) == 0) {
      shape[d] = x.shape()[d];
      copied[d] = true;
    } else if (shape[d] == -1) {
      open = static_cast<int64_t>(d);
    } else {
      known *= shape[d];
    }
  }
  for (size_t d = 0; d < copied.size(); ++d) copied_count *= copied[d] ? 1 : x.shape()[d];
  if (open >= 0) shape[static_cast<size_t>(open)] = known == 0 ? 0 : copied_count / known;
  if (element_count(shape) != x.elements())
    fail_node(ctx.node(), concat("cannot give ", x.elements(), " elements a shape of ", element_count(shape)));
  return {x.reshaped(std::move(shape))};
}

// ---- Flatten

void infer_flatten(InferContext& ctx) {
  const int64_t rank = ctx.rank(0), axis = ctx.node().int_attribute("axis", 1);
  if (axis < -rank || axis > rank) ctx.fail(concat("axis ", axis, " out of range [", -rank, ", ", rank, "]"));
  const auto middle = ctx.shape(0).begin() + (axis < 0 ? axis + rank : axis);
  set_view(ctx, {product(Shape(ctx.shape(0).begin(), middle)), product(Shape(middle, ctx.shape(0).end()))});
}

std::vector<Tensor> reference_flatten(ReferenceContext& ctx) {
  const Tensor& x = *ctx.input(0);
  const int64_t axis = wrap_axis(ctx.node().int_attribute("axis", 1), x.rank());
  int64_t rows = 1, columns = 1;
  for (int64_t d = 0; d < x.rank(); ++d) (d < axis ? rows : columns) *= x.shape()[static_cast<size_t>(d)];
  return {x.reshaped({rows, columns})};
}

// ---- Squeeze and Unsqueeze: axes are an attribute before opset 13

void upgrade_axes(UpgradeContext& ctx) {
  if (ctx.version < 13) ctx.attribute_to_input("axes", 1);
}

/// Without axes, every extent of 1 is removed. A symbolic extent would leave the rank open, which is refused.
std::vector<int64_t> unit_axes(const InferContext& ctx) {
  std::vector<int64_t> axes;
  for (size_t d = 0; d < ctx.shape(0).size(); ++d) {
    const Dim& extent = ctx.shape(0)[d];
    if (extent.is(1))
      axes.push_back(static_cast<int64_t>(d));
    else if (extent.lower_bound().value_or(0) < 2 && !extent.is_constant())
      ctx.fail(concat("without axes it is unknown whether dimension ", d, " of extent ", extent.str(), " is removed"));
  }
  return axes;
}

/// True if the axes are only known at run time. The rank follows from their number, which must be constant.
bool has_runtime_axes(const InferContext& ctx) {
  if (!ctx.has_input(1) || ctx.int_contents(1)) return false;
  if (ctx.rank(1) != 1 || !ctx.shape(1)[0].is_constant())
    ctx.fail("the number of axes (input 1) must be known at compile time");
  return true;
}

void set_open_view(InferContext& ctx, int64_t rank, const char* hint) {
  if (rank < 0) ctx.fail(concat("there are more axes than the ", ctx.rank(0), " dimensions"));
  Shape out;
  for (int64_t d = 0; d < rank; ++d) out.push_back(ctx.fresh_symbol(hint));
  ctx.require_equal(product(ctx.shape(0)), product(out), "elements before and after");
  set_view(ctx, std::move(out));
}

Expr squeezed_extent(LowerContext& ctx, int symbol) { return unnamed_extent(ctx, 1, ctx.input_shape(0), symbol); }

void infer_squeeze(InferContext& ctx) {
  if (has_runtime_axes(ctx)) return set_open_view(ctx, ctx.rank(0) - ctx.shape(1)[0].constant(), "squeezed");
  const std::vector<int64_t> axes = ctx.has_input(1) ? axes_input(ctx, 1, ctx.rank(0)) : unit_axes(ctx);
  Shape out;
  for (int64_t d = 0; d < ctx.rank(0); ++d) {
    const Dim& extent = ctx.shape(0)[static_cast<size_t>(d)];
    if (!std::binary_search(axes.begin(), axes.end(), d))
      out.push_back(extent);
    else if (!extent.is(1))
      ctx.require_equal(extent, 1, concat("removed dimension ", d));
  }
  set_view(ctx, std::move(out));
}

std::vector<Tensor> reference_squeeze(ReferenceContext& ctx) {
  const Tensor& x = *ctx.input(0);
  std::vector<bool> removed;
  for (int64_t extent : x.shape()) removed.push_back(!ctx.input(1) && extent == 1);
  if (ctx.input(1))
    for (int64_t a : ctx.input(1)->to_ints()) removed[static_cast<size_t>(wrap_axis(a, x.rank()))] = true;
  std::vector<int64_t> shape;
  for (size_t d = 0; d < removed.size(); ++d)
    if (!removed[d]) shape.push_back(x.shape()[d]);
  return {x.reshaped(std::move(shape))};
}

/// 1 for a named dimension, else the next extent of the input.
Expr unsqueezed_extent(LowerContext& ctx, int symbol) {
  const Shape& x = ctx.input_shape(0);
  const int64_t rank = static_cast<int64_t>(x.size()) + ctx.input_shape(1)[0].constant();
  const Expr number = index(symbol) - named_before(ctx, 1, symbol, rank);
  Expr extent_here = index(1);
  for (size_t d = 0; d < x.size(); ++d)
    extent_here = select(binary(BinaryOp::equal, number, index(static_cast<int64_t>(d))), extent(x[d]), extent_here);
  return select(is_named(ctx, 1, symbol, rank), index(1), extent_here);
}

void infer_unsqueeze(InferContext& ctx) {
  if (has_runtime_axes(ctx)) return set_open_view(ctx, ctx.rank(0) + ctx.shape(1)[0].constant(), "unsqueezed");
  const auto values = ctx.int_contents(1);
  const int64_t rank = ctx.rank(0) + static_cast<int64_t>(values->size());
  const std::vector<int64_t> axes = axes_input(ctx, 1, rank);
  Shape out = ctx.shape(0);
  for (int64_t a : axes) out.insert(out.begin() + a, Dim(1));
  set_view(ctx, std::move(out));
}

std::vector<Tensor> reference_unsqueeze(ReferenceContext& ctx) {
  const Tensor& x = *ctx.input(0);
  const std::vector<int64_t> axes = ctx.input(1)->to_ints();
  const int64_t rank = x.rank() + static_cast<int64_t>(axes.size());
  std::vector<int64_t> shape(static_cast<size_t>(rank), 0);
  for (int64_t a : axes) shape[static_cast<size_t>(wrap_axis(a, rank))] = 1;
  auto next = x.shape().begin();
  for (int64_t& extent : shape)
    if (extent == 0) extent = *next++;
  return {x.reshaped(std::move(shape))};
}

}  // namespace

constinit const OpDef op_Reshape{.name = "Reshape",
                                 .since = 1,
                                 .min_inputs = 2,
                                 .max_inputs = 2,
                                 .types = {Types::any, Types::integers},
                                 .kind = OpKind::view,
                                 .upgrade = upgrade_reshape,
                                 .infer = infer_reshape,
                                 .lower = lower_view,
                                 .data_extent = reshaped_extent,
                                 .reference = reference_reshape};
constinit const OpDef op_Flatten{.name = "Flatten",
                                 .since = 1,
                                 .min_inputs = 1,
                                 .max_inputs = 1,
                                 .kind = OpKind::view,
                                 .infer = infer_flatten,
                                 .lower = lower_view,
                                 .reference = reference_flatten};
constinit const OpDef op_Squeeze{.name = "Squeeze",
                                 .since = 1,
                                 .min_inputs = 1,
                                 .max_inputs = 2,
                                 .types = {Types::any, Types::integers},
                                 .kind = OpKind::view,
                                 .upgrade = upgrade_axes,
                                 .infer = infer_squeeze,
                                 .lower = lower_view,
                                 .data_extent = squeezed_extent,
                                 .reference = reference_squeeze};
constinit const OpDef op_Unsqueeze{.name = "Unsqueeze",
                                   .since = 1,
                                   .min_inputs = 2,
                                   .max_inputs = 2,
                                   .types = {Types::any, Types::integers},
                                   .kind = OpKind::view,
                                   .upgrade = upgrade_axes,
                                   .infer = infer_unsqueeze,
                                   .lower = lower_view,
                                   .data_extent = unsqueezed_extent,
                                   .reference = reference_unsqueeze};

}  // namespace gcg
