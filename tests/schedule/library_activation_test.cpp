// Activations in epilogues are recognised for any argument expression and any order of operands.
#include "compiler/kernel/library_activation.h"

#include <gtest/gtest.h>

namespace gcg {
namespace {

const Axis kAxis{0, Dim::symbol("n")};

Expr sum() { return accumulator(DType::f32) + load(0, DType::f32, {axis_ref(kAxis)}); }
Expr number(double value) { return constant_float(DType::f32, value); }

TEST(LibraryActivation, WhatOperatorsLowerToIsFound) {
  const Expr x = sum();
  EXPECT_EQ(activation_of(relu(x)).function, LibraryActivation::relu);
  EXPECT_EQ(activation_of(relu(x)).argument, x);
  EXPECT_EQ(activation_of(gelu_tanh(x)).function, LibraryActivation::gelu_tanh);
  EXPECT_EQ(activation_of(gelu_tanh(x)).argument, x);
}

TEST(LibraryActivation, OperandsMayBeInEitherOrder) {
  EXPECT_EQ(activation_of(binary(BinaryOp::max, number(0), sum())).function, LibraryActivation::relu);
}

TEST(LibraryActivation, TheArgumentIsTheSameEverywhere) {
  const Expr x = sum(), y = accumulator(DType::f32);
  const auto mixed = [&](const Expr& other) {
    return rewrite(gelu_tanh(x),
                   [&](const Expr& e) { return e->kind == ExprKind::unary ? unary(e->unary, other) : nullptr; });
  };
  EXPECT_EQ(activation_of(mixed(gelu_tanh(x)->args[1]->args[0])).function, LibraryActivation::gelu_tanh);
  EXPECT_EQ(activation_of(mixed(gelu_tanh(y)->args[1]->args[0])).function, LibraryActivation::none);
}

TEST(LibraryActivation, OthersStayAsTheyAre) {
  for (const Expr& e : {sum(), binary(BinaryOp::max, sum(), number(1)), number(0.5) * sum()}) {
    EXPECT_EQ(activation_of(e).function, LibraryActivation::none);
    EXPECT_EQ(activation_of(e).argument, e);
  }
}

}  // namespace
}  // namespace gcg
