// Expressions as --print-plan shows them: every operator has a distinct text.
#include <gtest/gtest.h>

#include "compiler/kernel/operator_names.h"
#include "compiler/kernel/print_kernel.h"

namespace gcg::test {
namespace {

TEST(PrintExpr, OperatorsHaveTexts) {
  const Expr i = load(0, DType::i64, {index(0)}), x = load(1, DType::f32, {index(0)});
  EXPECT_EQ(print_expr(binary(BinaryOp::checked_index, i, index(3))), "(o0[0] in 3)");
  EXPECT_EQ(print_expr(binary(BinaryOp::shift_right, i, index(3))), "(o0[0] >> 3)");
  EXPECT_EQ(print_expr(unary(UnaryOp::bits, x)), "bits(o1[0])");
}

TEST(PrintExpr, NamesAreThoseOfTheEnumerations) {
  EXPECT_STREQ(name_of(UnaryOp::atanh), "atanh");
  EXPECT_STREQ(name_of(UnaryOp::is_inf), "is_inf");
  EXPECT_STREQ(name_of(BinaryOp::greater_equal), "greater_equal");
  EXPECT_STREQ(name_of(BinaryOp::shift_left), "shift_left");
}

}  // namespace
}  // namespace gcg::test
