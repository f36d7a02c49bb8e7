// The message of a run if an index from data is out of range.
#include "compiler/kernel/index_limits.h"

#include <gtest/gtest.h>

namespace gcg::test {
namespace {

Expr wrapped(const Dim& size) {
  const Expr i = load(0, DType::i64, {index(0)});
  const Expr from_front = select(binary(BinaryOp::less, i, index(0)), i + extent(size), i);
  return binary(BinaryOp::checked_index, from_front, extent(size));
}

Kernel loop_of(const std::vector<Expr>& values) {
  LoopKernel loop;
  for (const Expr& value : values) {
    Stage stage;
    stage.value = value;
    stage.operand = 1;
    stage.index = {index(0)};
    loop.stages.push_back(stage);
  }
  Kernel kernel;
  kernel.body = loop;
  return kernel;
}

using Ranges = std::set<std::string>;

TEST(IndexLimits, RangesAreNamedOnce) {
  EXPECT_EQ(index_limits(loop_of({wrapped(Dim(5)), wrapped(Dim(5))})), Ranges({"[-5, 5)"}));
  EXPECT_EQ(index_limits(loop_of({wrapped(Dim::symbol("n"))})), Ranges({"[-n, n)"}));
  const Expr plain = binary(BinaryOp::checked_index, load(0, DType::i64, {index(0)}), index(3));
  EXPECT_EQ(index_limits(loop_of({plain, wrapped(Dim(5))})), Ranges({"[-5, 5)", "[0, 3)"}));
}

IndexCheck check_of(int operand, int64_t first, int64_t step, Dim limit, bool from_end) {
  return {operand, DType::i64, first, step, std::move(limit), from_end};
}

Kernel with_operand(Kernel kernel, Shape indices) {
  kernel.operands = {{DType::i64, std::move(indices)}, {DType::f32, {Dim(4)}, true}};
  return kernel;
}

TEST(IndexLimits, IndicesThatAreAnOperandAreKnown) {
  const Axis axis{0, Dim::symbol("n")};
  const auto gathered = [&](const std::vector<Expr>& at) {
    const Expr i = load(0, DType::i64, at);
    return binary(BinaryOp::checked_index, select(binary(BinaryOp::less, i, index(0)), i + index(5), i), index(5));
  };
  const Shape tuples = {axis.extent, Dim(2)};
  EXPECT_EQ(index_checks(with_operand(loop_of({gathered({axis_ref(axis)})}), {axis.extent})),
            std::vector({check_of(0, 0, 1, Dim(5), true)}));
  const std::vector both = {gathered({axis_ref(axis), index(0)}), gathered({axis_ref(axis), index(1)})};
  EXPECT_EQ(index_checks(with_operand(loop_of(both), tuples)),
            std::vector({check_of(0, 0, 2, Dim(5), true), check_of(0, 1, 2, Dim(5), true)}));
  // If data decides whether an index is used, an unused index may have any value.
  const Expr ignored = binary(BinaryOp::equal, load(0, DType::i64, {axis_ref(axis)}), index(-100));
  const Expr chosen = select(ignored, index(0), gathered({axis_ref(axis)}));
  EXPECT_EQ(index_checks(with_operand(loop_of({chosen}), {axis.extent})), std::vector<IndexCheck>());
}

TEST(IndexLimits, NoneWithoutAnIndexFromData) {
  EXPECT_EQ(index_limits(loop_of({load(0, DType::f32, {index(0)})})), Ranges());
}

}  // namespace
}  // namespace gcg::test
