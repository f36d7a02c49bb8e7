// Shape, Size and Expand: extents as data, and data broadcast to extents.
#include <algorithm>

#include "compiler/ops/broadcast.h"
#include "compiler/ops/index.h"
#include "compiler/ops/movement.h"
#include "compiler/ops/ops.h"

namespace gcg {
namespace {

// ---- Shape

/// The requested dimensions [start, end), clamped to the rank.
std::pair<int64_t, int64_t> dimension_range(const Node& node, int64_t rank) {
  const auto clamped = [&](int64_t v) { return std::clamp<int64_t>(v < 0 ? v + rank : v, 0, rank); };
  const int64_t start = clamped(node.int_attribute("start", 0));
  return {start, std::max(start, clamped(node.int_attribute("end", rank)))};
}

void infer_shape(InferContext& ctx) {
  const auto [start, end] = dimension_range(ctx.node(), ctx.rank(0));
  const Shape& shape = ctx.shape(0);
  ctx.set_output(0, DType::i64, {Dim(end - start)});
  ctx.set_contents(0, Shape(shape.begin() + start, shape.begin() + end));
}

Expr lower_shape(LowerContext& ctx, int, const std::vector<Expr>& at) {
  const Shape& shape = ctx.input_shape(0);
  const auto [start, end] = dimension_range(ctx.node(), static_cast<int64_t>(shape.size()));
  Expr value = end > start ? extent(shape[static_cast<size_t>(end - 1)]) : index(0);
  for (int64_t d = end - 2; d >= start; --d)
    value = select(binary(BinaryOp::equal, at[0], index(d - start)), extent(shape[static_cast<size_t>(d)]), value);
  return value;
}

std::vector<Tensor> reference_shape(ReferenceContext& ctx) {
  const std::vector<int64_t>& shape = ctx.input(0)->shape();
  const auto [start, end] = dimension_range(ctx.node(), ctx.input(0)->rank());
  return {Tensor::vector_i64({shape.begin() + start, shape.begin() + end})};
}

// ---- Size

void infer_size(InferContext& ctx) {
  ctx.set_output(0, DType::i64, {});
  ctx.set_contents(0, {product(ctx.shape(0))});
}

Expr lower_size(LowerContext& ctx, int, const std::vector<Expr>&) { return extent(product(ctx.input_shape(0))); }

std::vector<Tensor> reference_size(ReferenceContext& ctx) { return {Tensor::scalar_i64(ctx.input(0)->elements())}; }

// ---- Expand: broadcasting both ways

void infer_expand(InferContext& ctx) {
  if (ctx.rank(1) != 1) ctx.fail("the shape (input 1) must be a vector");
  Shape target;
  if (const auto contents = ctx.contents(1)) {
    target = ctx.broadcast(ctx.shape(0), *contents);
  } else {
    if (!ctx.shape(1)[0].is_constant()) ctx.fail("the number of dimensions of the shape is not known at compile time");
    target = ctx.shape(0);
    const int64_t rank = std::max(ctx.rank(0), ctx.shape(1)[0].constant());
    target.insert(target.begin(), static_cast<size_t>(rank - ctx.rank(0)), Dim(1));
    for (Dim& d : target)
      if (d.is(1)) d = ctx.fresh_symbol("expanded");
  }
  const bool small = target.size() <= 1;
  const Dim size = product(target);
  ctx.set_output(0, ctx.dtype(0), std::move(target));
  const auto from = ctx.contents(0);
  if (!small || !from || !size.is_constant()) return;
  if (from->size() == static_cast<size_t>(size.constant()))
    ctx.set_contents(0, *from);
  else if (from->size() == 1)
    ctx.set_contents(0, std::vector<Dim>(static_cast<size_t>(size.constant()), from->front()));
}

/// The symbols are the extents of the dimensions in which the input has the extent 1.
Expr expanded_extent(LowerContext& ctx, int symbol) {
  const Shape& x = ctx.input_shape(0);
  const int64_t target_rank = ctx.input_shape(1)[0].constant(), input_rank = static_cast<int64_t>(x.size());
  const int64_t rank = std::max(target_rank, input_rank);
  for (int64_t d = 0; d < rank; ++d) {
    const bool open = d < rank - input_rank || x[static_cast<size_t>(d - rank + input_rank)].is(1);
    if (open && symbol-- == 0)
      return d < rank - target_rank ? index(1) : integer_input(ctx, 1, {index(d - rank + target_rank)});
  }
  GCG_CHECK(false, "Expand has fewer open extents");
}

/// An index that is normally 0. It is out of range, so that the run fails, if an extent that is only known at run time
/// is neither 1 nor the input's own. Null if no extent can be wrong.
Expr agreement(LowerContext& ctx) {
  const Shape& x = ctx.input_shape(0);
  if (known_dims(ctx.input_value(1))) return nullptr;
  const auto target_rank = static_cast<size_t>(ctx.input_shape(1)[0].constant()), input_rank = x.size();
  Expr wrong;
  for (size_t d = target_rank > input_rank ? 0 : input_rank - target_rank; d < input_rank; ++d) {
    if (x[d].is(1)) continue;
    const Expr extent_asked =
        integer_input(ctx, 1, {index(static_cast<int64_t>(d + target_rank) - static_cast<int64_t>(input_rank))});
    const Expr here = binary(BinaryOp::logical_and, binary(BinaryOp::not_equal, extent_asked, index(1)),
                             binary(BinaryOp::not_equal, extent_asked, extent(x[d])));
    wrong = wrong ? binary(BinaryOp::logical_or, wrong, here) : here;
  }
  return wrong ? binary(BinaryOp::checked_index, select(wrong, index(1), index(0)), index(1)) : nullptr;
}

Expr lower_expand(LowerContext& ctx, int, const std::vector<Expr>& at) {
  const Expr zero = agreement(ctx);
  if (!zero) return ctx.broadcast_input(0, at);
  const Shape& x = ctx.input_shape(0);
  Index from(at.end() - static_cast<std::ptrdiff_t>(x.size()), at.end());
  for (size_t d = 0; d < x.size(); ++d) from[d] = x[d].is(1) ? index(0) : from[d] + zero;
  return ctx.input(0, from);
}

std::vector<Tensor> reference_expand(ReferenceContext& ctx) {
  const Tensor& x = *ctx.input(0);
  std::vector<int64_t> shape = ctx.input(1)->to_ints();
  if (shape.size() < x.shape().size()) shape.insert(shape.begin(), x.shape().size() - shape.size(), 1);
  const size_t skipped = shape.size() - x.shape().size();
  for (size_t d = 0; d < x.shape().size(); ++d) {
    int64_t& extent = shape[skipped + d];
    if (extent != 1 && x.shape()[d] != 1 && extent != x.shape()[d])
      fail_node(ctx.node(), concat("cannot expand an extent of ", x.shape()[d], " to ", extent));
    if (x.shape()[d] != 1) extent = x.shape()[d];
  }
  Tensor y(x.dtype(), shape);
  const std::vector<int64_t> from = broadcast_offsets(x.shape(), shape);
  const auto width = static_cast<size_t>(size_of(x.dtype()));
  for (size_t i = 0; i < from.size(); ++i)
    std::memcpy(y.mutable_data() + i * width, x.data() + static_cast<size_t>(from[i]) * width, width);
  return {std::move(y)};
}

}  // namespace

constinit const OpDef op_Shape{.name = "Shape",
                               .since = 1,
                               .min_inputs = 1,
                               .max_inputs = 1,
                               .results = {Types::i64},
                               .kind = OpKind::generator,
                               .traits = {.magnitude = Magnitude::exact},
                               .infer = infer_shape,
                               .lower = lower_shape,
                               .reference = reference_shape};
constinit const OpDef op_Size{.name = "Size",
                              .since = 1,
                              .min_inputs = 1,
                              .max_inputs = 1,
                              .results = {Types::i64},
                              .kind = OpKind::generator,
                              .traits = {.magnitude = Magnitude::exact},
                              .infer = infer_size,
                              .lower = lower_size,
                              .reference = reference_size};
constinit const OpDef op_Expand{.name = "Expand",
                                .since = 8,
                                .min_inputs = 2,
                                .max_inputs = 2,
                                .types = {Types::any, Types::integers},
                                .kind = OpKind::movement,
                                .traits = {.cost = Cost::cheap, .is_strided = true, .data_inputs = 1},
                                .infer = infer_expand,
                                .lower = lower_expand,
                                .data_extent = expanded_extent,
                                .reference = reference_expand};

}  // namespace gcg
