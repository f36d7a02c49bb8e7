// Gather, GatherElements and GatherND. Negative indices count from the end; an index that is still out of range is a
// run-time error.
#include "compiler/ops/index.h"
#include "compiler/ops/movement.h"
#include "compiler/ops/ops.h"
#include "compiler/ops/pointwise.h"

namespace gcg {

int64_t checked_element(const ReferenceContext& ctx, int64_t i, int64_t extent) {
  if (i < -extent || i >= extent)
    fail_node(ctx.node(), concat("index ", i, " out of range [", -extent, ", ", extent, ")"));
  return i < 0 ? i + extent : i;
}

Expr element_index(LowerContext& ctx, const Expr& i, const Dim& size) {
  const Expr wrapped = wrap_index(i, size);
  const auto& known = ctx.input_value(1).constant;
  const int64_t least = size.lower_bound().value_or(0);
  bool valid = known != nullptr;
  for (int64_t k = 0; valid && k < known->elements(); ++k)
    valid = known->at_int(k) >= -least && known->at_int(k) < least;
  return valid ? clamp_index(wrapped, size) : binary(BinaryOp::checked_index, wrapped, extent(size));
}

namespace {

int64_t axis_of(const Node& node, int64_t rank) { return wrap_axis(node.int_attribute("axis", 0), rank); }

// ---- Gather: out[a..., i..., b...] = data[a..., indices[i...], b...]

void gather_contents(InferContext& ctx) {
  const auto from = ctx.contents(0);
  const auto indices = ctx.int_contents(1);
  if (!from || !indices || ctx.rank(0) != 1 || ctx.rank(1) > 1) return;
  const auto size = static_cast<int64_t>(from->size());
  std::vector<Dim> to;
  for (int64_t i : *indices) {
    if (i < -size || i >= size) ctx.fail(concat("index ", i, " out of range [", -size, ", ", size, ")"));
    to.push_back((*from)[static_cast<size_t>(i < 0 ? i + size : i)]);
  }
  ctx.set_contents(0, std::move(to));
}

void infer_gather(InferContext& ctx) {
  const int64_t axis = ctx.axis(ctx.node().int_attribute("axis", 0), ctx.rank(0));
  Shape shape = ctx.shape(0);
  shape.erase(shape.begin() + axis);
  shape.insert(shape.begin() + axis, ctx.shape(1).begin(), ctx.shape(1).end());
  ctx.set_output(0, ctx.dtype(0), std::move(shape));
  gather_contents(ctx);
}

Expr lower_gather(LowerContext& ctx, int, const std::vector<Expr>& at) {
  const Shape& data = ctx.input_shape(0);
  const auto rank = static_cast<std::ptrdiff_t>(ctx.input_shape(1).size());
  const int64_t axis = axis_of(ctx.node(), static_cast<int64_t>(data.size()));
  const auto first = at.begin() + axis;
  Index from(at.begin(), first);
  from.push_back(
      element_index(ctx, integer_input(ctx, 1, Index(first, first + rank)), data[static_cast<size_t>(axis)]));
  from.insert(from.end(), first + rank, at.end());
  return ctx.input(0, from);
}

std::vector<Tensor> reference_gather(ReferenceContext& ctx) {
  const Tensor &x = *ctx.input(0), &indices = *ctx.input(1);
  const int64_t axis = axis_of(ctx.node(), x.rank());
  std::vector<int64_t> shape(x.shape().begin(), x.shape().begin() + axis);
  shape.insert(shape.end(), indices.shape().begin(), indices.shape().end());
  shape.insert(shape.end(), x.shape().begin() + axis + 1, x.shape().end());
  return {rearranged(x, shape, [&](const std::vector<int64_t>& at) {
    const auto first = at.begin() + axis, after = first + indices.rank();
    std::vector<int64_t> from(at.begin(), first);
    from.push_back(checked_element(ctx, indices.at_int(position({first, after}, indices.shape())),
                                   x.shape()[static_cast<size_t>(axis)]));
    from.insert(from.end(), after, at.end());
    return from;
  })};
}

// ---- GatherElements: out[..., i, ...] = data[..., indices[..., i, ...], ...]

void infer_gather_elements(InferContext& ctx) {
  ctx.axis(ctx.node().int_attribute("axis", 0), ctx.rank(0));
  if (ctx.rank(1) != ctx.rank(0)) ctx.fail(concat("the indices have rank ", ctx.rank(1), ", the data ", ctx.rank(0)));
  ctx.set_output(0, ctx.dtype(0), ctx.shape(1));
}

Expr lower_gather_elements(LowerContext& ctx, int, const std::vector<Expr>& at) {
  const auto axis = static_cast<size_t>(axis_of(ctx.node(), static_cast<int64_t>(at.size())));
  Index from = at;
  from[axis] = element_index(ctx, cast(DType::i64, ctx.input(1, at)), ctx.input_shape(0)[axis]);
  return ctx.input(0, from);
}

std::vector<Tensor> reference_gather_elements(ReferenceContext& ctx) {
  const Tensor &x = *ctx.input(0), &indices = *ctx.input(1);
  const auto axis = static_cast<size_t>(axis_of(ctx.node(), x.rank()));
  return {rearranged(x, indices.shape(), [&](std::vector<int64_t> at) {
    at[axis] = checked_element(ctx, indices.at_int(position(at, indices.shape())), x.shape()[axis]);
    return at;
  })};
}

// ---- GatherND: the last dimension of the indices holds a partial index, after `batch_dims` shared dimensions

int64_t tuple_length(const Shape& indices) { return indices.back().constant(); }

void infer_gather_nd(InferContext& ctx) {
  const int64_t batch = ctx.node().int_attribute("batch_dims", 0), rank = ctx.rank(0);
  if (ctx.rank(1) < 1 || rank < 1) ctx.fail("data and indices must have at least 1 dimension");
  if (batch < 0 || batch >= std::min(ctx.rank(1), rank)) ctx.fail(concat("batch_dims is ", batch, ", out of range"));
  if (!ctx.shape(1).back().is_constant()) ctx.fail("the last extent of the indices must be known at compile time");
  const int64_t length = tuple_length(ctx.shape(1));
  if (length < 1 || batch + length > rank)
    ctx.fail(concat("index tuples of ", length, " elements for ", rank - batch, " dimensions of data"));
  for (size_t d = 0; d < static_cast<size_t>(batch); ++d)
    ctx.require_equal(ctx.shape(0)[d], ctx.shape(1)[d], concat("batch dimension ", d));
  Shape shape(ctx.shape(1).begin(), ctx.shape(1).end() - 1);
  shape.insert(shape.end(), ctx.shape(0).begin() + batch + length, ctx.shape(0).end());
  ctx.set_output(0, ctx.dtype(0), std::move(shape));
}

Expr lower_gather_nd(LowerContext& ctx, int, const std::vector<Expr>& at) {
  const auto batch = static_cast<size_t>(ctx.node().int_attribute("batch_dims", 0));
  const auto tuples = static_cast<std::ptrdiff_t>(ctx.input_shape(1).size()) - 1;
  Index where(at.begin(), at.begin() + tuples), from(at.begin(), at.begin() + static_cast<std::ptrdiff_t>(batch));
  where.push_back(nullptr);
  for (int64_t i = 0; i < tuple_length(ctx.input_shape(1)); ++i) {
    where.back() = index(i);
    from.push_back(
        element_index(ctx, cast(DType::i64, ctx.input(1, where)), ctx.input_shape(0)[batch + static_cast<size_t>(i)]));
  }
  from.insert(from.end(), at.begin() + tuples, at.end());
  return ctx.input(0, from);
}

std::vector<Tensor> reference_gather_nd(ReferenceContext& ctx) {
  const Tensor &x = *ctx.input(0), &indices = *ctx.input(1);
  const int64_t batch = ctx.node().int_attribute("batch_dims", 0), length = indices.shape().back(),
                tuples = indices.rank() - 1;
  std::vector<int64_t> shape(indices.shape().begin(), indices.shape().end() - 1);
  shape.insert(shape.end(), x.shape().begin() + batch + length, x.shape().end());
  return {rearranged(x, shape, [&](const std::vector<int64_t>& at) {
    std::vector<int64_t> where(at.begin(), at.begin() + tuples), from(at.begin(), at.begin() + batch);
    where.push_back(0);
    const int64_t tuple = position(where, indices.shape());
    for (int64_t i = 0; i < length; ++i)
      from.push_back(checked_element(ctx, indices.at_int(tuple + i), x.shape()[static_cast<size_t>(batch + i)]));
    from.insert(from.end(), at.begin() + tuples, at.end());
    return from;
  })};
}

}  // namespace

constinit const OpDef op_Gather{.name = "Gather",
                                .since = 1,
                                .min_inputs = 2,
                                .max_inputs = 2,
                                .types = {Types::any, Types::integers},
                                .kind = OpKind::movement,
                                .traits = {.data_inputs = 1},
                                .infer = infer_gather,
                                .lower = lower_gather,
                                .reference = reference_gather};
constinit const OpDef op_GatherElements{.name = "GatherElements",
                                        .since = 11,
                                        .min_inputs = 2,
                                        .max_inputs = 2,
                                        .types = {Types::any, Types::integers},
                                        .kind = OpKind::movement,
                                        .infer = infer_gather_elements,
                                        .lower = lower_gather_elements,
                                        .reference = reference_gather_elements};
constinit const OpDef op_GatherND{.name = "GatherND",
                                  .since = 11,
                                  .min_inputs = 2,
                                  .max_inputs = 2,
                                  .types = {Types::any, Types::integers},
                                  .kind = OpKind::movement,
                                  .infer = infer_gather_nd,
                                  .lower = lower_gather_nd,
                                  .reference = reference_gather_nd};

}  // namespace gcg
