// What a run says of an index from data that lies outside.
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

TEST(IndexLimits, NoneWithoutAnIndexFromData) {
  EXPECT_EQ(index_limits(loop_of({load(0, DType::f32, {index(0)})})), Ranges());
}

}  // namespace
}  // namespace gcg::test
