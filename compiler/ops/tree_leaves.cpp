// gart.TreeLeaves: finds the leaf of every row in every tree of an ensemble.
//
//   TreeLeaves(x [N, F], roots i32 [T], words i32 [M], splits [M], left i32 [M]) {nan_left} -> i32 [N, T]
//
// The nodes of all trees are numbered together. The word of an inner node is feature << 2 | nan_left << 1 | 1; that of
// a leaf is 0. If x[feature] <= split (or it is NaN, with nan_left), the child is left[node], else left[node] + 1. A
// leaf is its own left child.
//
// A step down waits for three dependent loads. Therefore several trees are walked side by side, without branches, until
// all walks have reached a leaf. If there are few trees, several rows are walked side by side in each tree. A task is a
// group of trees and a range of rows: the group's nodes stay in the cache while all its rows pass.
#include <cmath>

#include "compiler/ops/expansion.h"
#include "compiler/ops/program_builder.h"

namespace gcg {
namespace {

enum : int { kX, kRoots, kWords, kSplits, kLeft };
constexpr int64_t kSideBySide = 8;

void infer_tree_leaves(InferContext& ctx) {
  if (ctx.rank(kX) != 2 || ctx.rank(kRoots) != 1) ctx.fail("features must be a matrix, roots a vector");
  if (ctx.dtype(kX) != ctx.dtype(kSplits)) ctx.fail("features and splits must have the same type");
  ctx.set_output(0, DType::i32, {ctx.shape(kX)[0], ctx.shape(kRoots)[0]});
}

Expr bits(const Expr& word, int64_t mask) { return binary(BinaryOp::bit_and, word, constant_int(DType::i32, mask)); }

/// The child of `node` with word `word`; a leaf returns itself.
Expr step_down(ProgramBuilder& p, const Expr& row, const Expr& node, const Expr& word, bool nan_may_go_left) {
  const Expr feature = cast(DType::i64, binary(BinaryOp::shift_right, word, constant_int(DType::i32, 2)));
  const Expr x = p.let(p.input(kX, {row, feature}));
  Expr right = unary(UnaryOp::logical_not, binary(BinaryOp::less_equal, x, p.input(kSplits, {node})));
  if (nan_may_go_left) {
    const Expr stays_left = binary(BinaryOp::logical_and, unary(UnaryOp::is_nan, x),
                                   binary(BinaryOp::not_equal, bits(word, 2), constant_int(DType::i32, 0)));
    right = binary(BinaryOp::logical_and, right, unary(UnaryOp::logical_not, stays_left));
  }
  return cast(DType::i64, p.input(kLeft, {node}) + binary(BinaryOp::bit_and, word, cast(DType::i32, right)));
}

void program_tree_leaves(ProgramBuilder& p) {
  const int64_t trees = p.input_shape(kRoots)[0].constant(), together = std::min(trees, kSideBySide);
  const int64_t rows_together = kSideBySide / together;
  const Dim& rows = p.input_shape(kX)[0];
  const bool nan_may_go_left = p.node().int_attribute("nan_left", 0) != 0;
  const Expr group = p.parallel(Dim((trees + together - 1) / together)),
             part = p.parallel(ceil_div(rows, rows_together));
  // The last group begins earlier instead of being shorter, and the last row is repeated, so all groups have the same
  // size.
  const Expr first = p.let(binary(BinaryOp::min, group * index(together), index(trees - together)));
  const auto row = [&](size_t lane) {
    if (rows_together == 1) return part;
    const Expr here = part * index(rows_together) + index(static_cast<int64_t>(lane) / together);
    return binary(BinaryOp::min, here, extent(rows - Dim(1)));
  };
  const auto tree = [&](size_t lane) { return first + index(static_cast<int64_t>(lane) % together); };
  const auto lanes = static_cast<size_t>(together * rows_together);
  std::vector<Expr> nodes, words;
  for (size_t l = 0; l < lanes; ++l) nodes.push_back(p.variable(cast(DType::i64, p.input(kRoots, {tree(l)}))));
  for (const Expr& node : nodes) words.push_back(p.variable(p.input(kWords, {node})));
  Expr any = words[0];
  for (size_t l = 1; l < lanes; ++l) any = binary(BinaryOp::bit_or, any, words[l]);
  p.loop_while(binary(BinaryOp::not_equal, any, constant_int(DType::i32, 0)), [&] {
    for (size_t l = 0; l < lanes; ++l) p.set(nodes[l], step_down(p, row(l), nodes[l], words[l], nan_may_go_left));
    for (size_t l = 0; l < lanes; ++l) p.set(words[l], p.input(kWords, {nodes[l]}));
  });
  for (size_t l = 0; l < lanes; ++l) p.store(0, {row(l), tree(l)}, cast(DType::i32, nodes[l]));
}

std::vector<Tensor> reference_tree_leaves(ReferenceContext& ctx) {
  const Tensor &x = *ctx.input(kX), &roots = *ctx.input(kRoots), &words = *ctx.input(kWords),
               &splits = *ctx.input(kSplits);
  const int64_t rows = x.shape()[0], trees = roots.elements(), features = x.shape()[1];
  Tensor y(DType::i32, {rows, trees});
  for (int64_t i = 0; i < y.elements(); ++i) {
    int64_t node = roots.at_int(i % trees);
    for (int64_t word = words.at_int(node); word != 0; word = words.at_int(node)) {
      const double value = x.at_double(i / trees * features + word / 4);
      const bool left = value <= splits.at_double(node) || (std::isnan(value) && word % 4 >= 2);
      node = ctx.input(kLeft)->at_int(node) + (left ? 0 : 1);
    }
    y.set_int(i, node);
  }
  return {std::move(y)};
}

}  // namespace

constinit const OpDef op_gart_TreeLeaves{.name = "TreeLeaves",
                                         .domain = "gart",
                                         .min_inputs = 5,
                                         .max_inputs = 5,
                                         .kind = OpKind::program,
                                         .infer = infer_tree_leaves,
                                         .program = program_tree_leaves,
                                         .reference = reference_tree_leaves};

}  // namespace gcg
