// Tile, ReverseSequence and Trilu: copies, reversals and triangles.
#include "compiler/ops/index.h"
#include "compiler/ops/movement.h"
#include "compiler/ops/ops.h"

namespace gcg {
namespace {

// ---- Tile

void infer_tile(InferContext& ctx) {
  if (ctx.rank(1) != 1) ctx.fail("the repeats (input 1) must be a vector");
  ctx.require_equal(ctx.shape(1)[0], ctx.rank(0), "repeats and dimensions");
  const auto repeats = ctx.contents(1);
  Shape shape = ctx.shape(0);
  for (size_t d = 0; d < shape.size(); ++d) shape[d] = repeats ? shape[d] * (*repeats)[d] : ctx.fresh_symbol("tiled");
  const Dim size = product(shape);
  ctx.set_output(0, ctx.dtype(0), std::move(shape));
  const auto from = ctx.contents(0);
  if (!from || ctx.rank(0) > 1 || !size.is_constant()) return;
  std::vector<Dim> contents;
  for (int64_t i = 0; i < size.constant(); ++i) contents.push_back((*from)[static_cast<size_t>(i) % from->size()]);
  ctx.set_contents(0, std::move(contents));
}

/// The extent of a dimension of the result. If the product would exceed 64 bits, returns an extent that is
/// larger than any tensor's.
Expr tiled_extent(LowerContext& ctx, int symbol) {
  const Expr own = extent(ctx.input_shape(0)[static_cast<size_t>(symbol)]),
             times = integer_input(ctx, 1, {index(symbol)});
  const Expr most = index(int64_t{1} << 62), limit = binary(BinaryOp::div, most, binary(BinaryOp::max, own, index(1)));
  return select(binary(BinaryOp::greater, times, limit), most, own * binary(BinaryOp::max, times, index(0) - limit));
}

Expr lower_tile(LowerContext& ctx, int, const std::vector<Expr>& at) {
  const auto repeats = known_dims(ctx.input_value(1));
  Index from = at;
  for (size_t d = 0; d < at.size(); ++d)
    if (!repeats || !(*repeats)[d].is(1)) from[d] = binary(BinaryOp::mod, at[d], extent(ctx.input_shape(0)[d]));
  return ctx.input(0, from);
}

std::vector<Tensor> reference_tile(ReferenceContext& ctx) {
  const Tensor& x = *ctx.input(0);
  std::vector<int64_t> shape = x.shape();
  for (size_t d = 0; d < shape.size(); ++d) shape[d] *= ctx.input(1)->at_int(static_cast<int64_t>(d));
  return {rearranged(x, shape, [&](std::vector<int64_t> at) {
    for (size_t d = 0; d < at.size(); ++d) at[d] %= x.shape()[d];
    return at;
  })};
}

// ---- ReverseSequence: the first sequence_lens[batch] elements along time, backwards

struct SequenceAxes {
  size_t batch, time;
};

SequenceAxes sequence_axes(const Node& node) {
  return {static_cast<size_t>(node.int_attribute("batch_axis", 1)),
          static_cast<size_t>(node.int_attribute("time_axis", 0))};
}

void infer_reverse_sequence(InferContext& ctx) {
  const auto [batch, time] = sequence_axes(ctx.node());
  if (batch + time != 1) ctx.fail("batch_axis and time_axis must be 0 and 1 or 1 and 0");
  if (ctx.rank(0) < 2) ctx.fail("the input must have at least 2 dimensions");
  if (ctx.rank(1) != 1) ctx.fail("sequence_lens (input 1) must be a vector");
  ctx.require_equal(ctx.shape(1)[0], ctx.shape(0)[batch], "sequence_lens and the batch extent");
  ctx.set_output(0, ctx.dtype(0), ctx.shape(0));
}

Expr lower_reverse_sequence(LowerContext& ctx, int, const std::vector<Expr>& at) {
  const auto [batch, time] = sequence_axes(ctx.node());
  const Expr length = cast(DType::i64, ctx.input(1, {at[batch]})), t = at[time];
  // A length outside [0, extent] gives an index out of range, which kernels report.
  const Expr forth = select(binary(BinaryOp::less, length, index(0)), length, t);
  Index from = at;
  from[time] = select(binary(BinaryOp::less, t, length), length - index(1) - t, forth);
  return ctx.input(0, from);
}

std::vector<Tensor> reference_reverse_sequence(ReferenceContext& ctx) {
  const SequenceAxes axes = sequence_axes(ctx.node());
  const Tensor& x = *ctx.input(0);
  return {rearranged(x, x.shape(), [&](std::vector<int64_t> at) {
    const int64_t length = ctx.input(1)->at_int(at[axes.batch]);
    if (length > x.shape()[axes.time])
      fail_node(ctx.node(), concat("a sequence length of ", length, " exceeds the time extent"));
    if (at[axes.time] < length) at[axes.time] = length - 1 - at[axes.time];
    return at;
  })};
}

// ---- Trilu: the upper or lower triangle of each matrix, from diagonal k

void infer_trilu(InferContext& ctx) {
  if (ctx.rank(0) < 2) ctx.fail("the input must have at least 2 dimensions");
  if (ctx.has_input(1) && !product(ctx.shape(1)).is(1)) ctx.fail("k (input 1) must be a scalar");
  ctx.set_output(0, ctx.dtype(0), ctx.shape(0));
}

Expr lower_trilu(LowerContext& ctx, int, const std::vector<Expr>& at) {
  const Expr k = ctx.has_input(1) ? integer_input(ctx, 1, Index(ctx.input_shape(1).size(), index(0))) : index(0);
  const Expr row = at[at.size() - 2], column = at.back();
  const bool upper = ctx.node().int_attribute("upper", 1) != 0;
  const Expr kept = binary(upper ? BinaryOp::greater_equal : BinaryOp::less_equal, column, row + k);
  return select(kept, ctx.input(0, at), number(ctx.output_value(0).dtype, 0));
}

std::vector<Tensor> reference_trilu(ReferenceContext& ctx) {
  const Tensor& x = *ctx.input(0);
  const int64_t k = ctx.input(1) ? ctx.input(1)->at_int(0) : 0;
  const bool upper = ctx.node().int_attribute("upper", 1) != 0;
  Tensor y(x.dtype(), x.shape());
  int64_t i = 0;
  for_each_index(x.shape(), [&](const std::vector<int64_t>& at) {
    const int64_t diagonal = at.back() - at[at.size() - 2];
    if (upper ? diagonal >= k : diagonal <= k) copy_element(y, i, x, i);
    ++i;
  });
  return {std::move(y)};
}

}  // namespace

constinit const OpDef op_Tile{.name = "Tile",
                              .since = 6,
                              .min_inputs = 2,
                              .max_inputs = 2,
                              .types = {Types::any, Types::integers},
                              .kind = OpKind::movement,
                              .traits = {.data_inputs = 1},
                              .infer = infer_tile,
                              .lower = lower_tile,
                              .data_extent = tiled_extent,
                              .reference = reference_tile};
constinit const OpDef op_ReverseSequence{.name = "ReverseSequence",
                                         .since = 10,
                                         .min_inputs = 2,
                                         .max_inputs = 2,
                                         .types = {Types::any, Types::integers},
                                         .kind = OpKind::movement,
                                         .infer = infer_reverse_sequence,
                                         .lower = lower_reverse_sequence,
                                         .reference = reference_reverse_sequence};
constinit const OpDef op_Trilu{.name = "Trilu",
                               .since = 14,
                               .min_inputs = 1,
                               .max_inputs = 2,
                               .types = {Types::any, Types::integers},
                               .kind = OpKind::movement,
                               .infer = infer_trilu,
                               .lower = lower_trilu,
                               .reference = reference_trilu};

}  // namespace gcg
