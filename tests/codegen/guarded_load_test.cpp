// Loads that are executed only if a select chooses their side: lanes outside the operand are never read.
#include <gtest/gtest.h>

#include "tests/codegen/conv_harness.h"
#include "tests/codegen/loop_harness.h"

namespace gcg::cpu {
namespace {

constexpr int64_t rows = 4, columns = 3, first = 9, width = 18;

/// y[r, c] = x[r, c - first] inside x, else 0, as Pad is lowered. The first register of a row lies wholly outside x,
/// and all lanes have the same condition on the row.
Kernel padded_rows() {
  const Axis r{0, rows + 2}, c{1, width};
  const Expr row = axis_ref(r) - index(1), column = axis_ref(c) - index(first);
  auto between = [](const Expr& i, int64_t extent) {
    return binary(BinaryOp::logical_and, binary(BinaryOp::greater_equal, i, index(0)),
                  binary(BinaryOp::less, i, index(extent)));
  };
  auto x = std::make_shared<ExprNode>(*load(0, DType::f32, {row, column}));
  x->guarded = true;
  Stage store;
  store.axes = {c};
  store.value = select(binary(BinaryOp::logical_and, between(row, rows), between(column, columns)), x,
                       constant_float(DType::f32, 0));
  store.operand = 1;
  store.index = {axis_ref(r), axis_ref(c)};
  Kernel kernel;
  kernel.name = "padded_rows";
  kernel.operands = {{DType::f32, {rows, columns}}, {DType::f32, {rows + 2, width}, true}};
  kernel.body = LoopKernel{{r}, {store}};
  return kernel;
}

class GuardedLoad : public testing::TestWithParam<const char*> {};

TEST_P(GuardedLoad, registers_outside_the_operand_are_not_read) {
  if (!test::runs_here(GetParam())) GTEST_SKIP() << "this machine cannot run " << GetParam();
  const Kernel kernel = padded_rows();
  const test::RunnableKernel code(kernel, GetParam());
  GuardedFloats x(rows * columns), y((rows + 2) * width);
  for (int64_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i + 1);
  ASSERT_EQ(code.call({x.data(), y.data()}, {}, 0, code.tasks({})), 0);
  for (int64_t i = 0; i < y.size(); ++i) {
    const int64_t row = i / width - 1, column = i % width - first;
    const bool inside = row >= 0 && row < rows && column >= 0 && column < columns;
    EXPECT_EQ(y[i], inside ? x[row * columns + column] : 0.0f) << "row " << row << ", column " << column;
  }
}

INSTANTIATE_TEST_SUITE_P(Targets, GuardedLoad, testing::Values("x86-64-v3", "x86-64-v4"),
                         [](const auto& each) { return std::string(each.param).substr(7); });

}  // namespace
}  // namespace gcg::cpu
