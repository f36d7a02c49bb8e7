// CenterCropPad: crops or pads with zeros to a given shape, evenly on both sides of every dimension.
#include "compiler/ops/index.h"
#include "compiler/ops/movement.h"
#include "compiler/ops/ops.h"

namespace gcg {
namespace {

/// The dimensions that the given shape applies to, in its order.
std::vector<size_t> resized_dims(const Node& node, size_t rank) {
  std::vector<size_t> dims;
  for (int64_t a : node.ints_attribute("axes"))
    dims.push_back(static_cast<size_t>(wrap_axis(a, static_cast<int64_t>(rank))));
  if (!node.has_attribute("axes"))
    for (size_t d = 0; d < rank; ++d) dims.push_back(d);
  return dims;
}

void infer_center_crop_pad(InferContext& ctx) {
  for (int64_t a : ctx.node().ints_attribute("axes")) ctx.axis(a, ctx.rank(0));
  const std::vector<size_t> dims = resized_dims(ctx.node(), ctx.shape(0).size());
  if (ctx.rank(1) != 1) ctx.fail("the shape (input 1) must be a vector");
  ctx.require_equal(ctx.shape(1)[0], static_cast<int64_t>(dims.size()), "elements of the shape");
  const auto target = ctx.contents(1);
  Shape shape = ctx.shape(0);
  for (size_t a = 0; a < dims.size(); ++a) shape[dims[a]] = target ? (*target)[a] : ctx.fresh_symbol("cropped");
  ctx.set_output(0, ctx.dtype(0), std::move(shape));
}

Expr cropped_extent(LowerContext& ctx, int symbol) { return integer_input(ctx, 1, {index(symbol)}); }

Expr lower_center_crop_pad(LowerContext& ctx, int output, const std::vector<Expr>& at) {
  Index from = at;
  Expr inside = boolean(true);
  for (size_t d : resized_dims(ctx.node(), at.size())) {
    const Dim &x = ctx.input_shape(0)[d], &y = ctx.output_shape(output)[d];
    from[d] = at[d] + extent(floor_div(max(x - y, 0), 2)) - extent(floor_div(max(y - x, 0), 2));
    const bool shrinks = (x - y).lower_bound().value_or(-1) >= 0;
    if (!shrinks) inside = both(inside, in_range(from[d], 0, x));
  }
  if (inside->kind == ExprKind::constant) return ctx.input(0, from);
  return select(inside, guarded(ctx.input(0, from)), number(ctx.output_value(output).dtype, 0));
}

std::vector<Tensor> reference_center_crop_pad(ReferenceContext& ctx) {
  const Tensor& x = *ctx.input(0);
  std::vector<int64_t> shape = x.shape();
  const std::vector<size_t> dims = resized_dims(ctx.node(), shape.size());
  for (size_t a = 0; a < dims.size(); ++a) shape[dims[a]] = ctx.input(1)->at_int(static_cast<int64_t>(a));
  Tensor y(x.dtype(), shape);
  for_each_index(shape, [&, i = int64_t{0}](std::vector<int64_t> at) mutable {
    bool inside = true;
    for (size_t d = 0; d < at.size(); ++d) {
      const int64_t surplus = x.shape()[d] - shape[d];
      at[d] += surplus > 0 ? surplus / 2 : -(-surplus / 2);
      inside = inside && at[d] >= 0 && at[d] < x.shape()[d];
    }
    if (inside) copy_element(y, i, x, position(at, x.shape()));
    ++i;
  });
  return {std::move(y)};
}

}  // namespace

constinit const OpDef op_CenterCropPad{.name = "CenterCropPad",
                                       .since = 18,
                                       .min_inputs = 2,
                                       .max_inputs = 2,
                                       .types = {Types::any, Types::integers},
                                       .kind = OpKind::movement,
                                       .infer = infer_center_crop_pad,
                                       .lower = lower_center_crop_pad,
                                       .data_extent = cropped_extent,
                                       .reference = reference_center_crop_pad};

}  // namespace gcg
