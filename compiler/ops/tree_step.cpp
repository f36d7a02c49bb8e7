// gart.TreeStep: every row goes some levels down in every tree of an ensemble, all of them at once and without a branch.
//
//   TreeStep(x [N, F], place [N, T] or [1, T], words i32 [M], splits [M], left i32 [M]) {levels} -> place [N, T]
//
// All trees are numbered together. A node's word is feature << 2 | nan_left << 1 | inner; its children are left[node], where
// x[feature] <= split (or is NaN, with nan_left), and left[node] + 1. A leaf is its own left child.
#include <cmath>

#include "compiler/ops/broadcast.h"
#include "compiler/ops/expansion.h"
#include "compiler/ops/index.h"

namespace gcg {
namespace {

enum : int { kX, kPlace, kWords, kSplits, kLeft };

void infer_tree_step(InferContext& ctx) {
  if (ctx.rank(kX) != 2 || ctx.rank(kPlace) != 2) ctx.fail("features and places must be matrices");
  if (ctx.dtype(kX) != ctx.dtype(kSplits)) ctx.fail("features and splits must have the same type");
  ctx.set_output(0, DType::i32, {ctx.broadcast(ctx.shape(kX)[0], ctx.shape(kPlace)[0]), ctx.shape(kPlace)[1]});
}

Expr valid(const Expr& number, const Dim& count) {
  return binary(BinaryOp::checked_index, cast(DType::i64, number), extent(count));
}

Expr lower_tree_step(LowerContext& ctx, int, const std::vector<Expr>& at) {
  const bool nan_may_go_left = ctx.node().int_attribute("nan_left", 0) != 0;
  Expr place = ctx.broadcast_input(kPlace, at);
  for (int64_t level = 0; level < ctx.node().int_attribute("levels", 1); ++level) {
    // Checked once per level, not in each of the loads.
    const Expr here = valid(place, ctx.input_shape(kWords)[0]), word = ctx.input(kWords, {here});
    const Expr feature = valid(binary(BinaryOp::shift_right, word, constant_int(DType::i32, 2)), ctx.input_shape(kX)[1]);
    const Expr x = ctx.input(kX, {broadcasts(ctx.input_shape(kX)[0]) ? index(0) : at[0], feature});
    const auto bit = [&](int64_t mask) { return binary(BinaryOp::bit_and, word, constant_int(DType::i32, mask)); };
    const Expr none = constant_int(DType::i32, 0);
    Expr left = binary(BinaryOp::less_equal, x, ctx.input(kSplits, {here}));
    if (nan_may_go_left)
      left = binary(BinaryOp::logical_or, left,
                    binary(BinaryOp::logical_and, unary(UnaryOp::is_nan, x), binary(BinaryOp::not_equal, bit(2), none)));
    place = ctx.input(kLeft, {here}) + select(left, none, bit(1));
  }
  return place;
}

std::vector<Tensor> reference_tree_step(ReferenceContext& ctx) {
  const Tensor &x = *ctx.input(kX), &place = *ctx.input(kPlace), &words = *ctx.input(kWords), &splits = *ctx.input(kSplits);
  const int64_t rows = std::max(x.shape()[0], place.shape()[0]), trees = place.shape()[1], features = x.shape()[1];
  Tensor y(DType::i32, {rows, trees});
  for (int64_t i = 0; i < y.elements(); ++i) {
    int64_t node = place.at_int(place.shape()[0] == 1 ? i % trees : i);
    for (int64_t level = 0; level < ctx.node().int_attribute("levels", 1); ++level) {
      const int64_t word = words.at_int(node), row = x.shape()[0] == 1 ? 0 : i / trees;
      const double value = x.at_double(row * features + word / 4);
      const bool left = value <= splits.at_double(node) || (std::isnan(value) && word % 4 >= 2);
      node = ctx.input(kLeft)->at_int(node) + (!left && word % 2 == 1 ? 1 : 0);
    }
    y.set_int(i, node);
  }
  return {std::move(y)};
}

}  // namespace

/// As dear as a product of matrices: never computed where it is used.
constinit const OpDef op_gart_TreeStep{.name = "TreeStep",
                                       .domain = "gart",
                                       .min_inputs = 5,
                                       .max_inputs = 5,
                                       .kind = OpKind::contraction,
                                       .traits = {.narrow = Narrow::no},
                                       .infer = infer_tree_step,
                                       .lower = lower_tree_step,
                                       .reference = reference_tree_step};

}  // namespace gcg
