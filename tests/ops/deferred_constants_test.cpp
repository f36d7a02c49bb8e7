// Large constants are computed when they are read, and can be computed again.
#include "compiler/ops/deferred_constants.h"

#include <gtest/gtest.h>

#include <cmath>

#include "compiler/ops/infer.h"
#include "compiler/ops/ops.h"
#include "compiler/passes/fold_constants.h"
#include "tests/ops/op_test.h"

namespace gcg::test {
namespace {

constexpr int64_t kRows = 700, kColumns = 800;  // 1 MB in 16 bits

TensorRef matrix(DType type) { return std::make_shared<const Tensor>(pattern(type, {kRows, kColumns}, 3)); }
TensorRef shared(Tensor t) { return std::make_shared<const Tensor>(std::move(t)); }

TensorRef transposed(const TensorRef& x) {
  return shared(computed_when_read({&op_Transpose, {}, {x}}, x->dtype(), {x->shape()[1], x->shape()[0]}));
}
TensorRef joined(const TensorRef& x, const TensorRef& y) {
  const std::vector<int64_t> shape = {x->shape()[0], x->shape()[1] + y->shape()[1]};
  return shared(computed_when_read({&op_Concat, {{"axis", int64_t{-1}}}, {x, y}}, x->dtype(), shape));
}

void expect_transposed(const Tensor& x, const Tensor& y) {
  for (int64_t i = 0; i < kRows; ++i)
    for (int64_t j = 0; j < kColumns; ++j) ASSERT_EQ(x.at_double(i * kColumns + j), y.at_double(j * kRows + i));
}

TEST(DeferredConstants, AreComputedByEachReadAfterARelease) {
  const TensorRef x = matrix(DType::f32), y = transposed(x);
  ASSERT_TRUE(y->deferred());
  expect_transposed(*x, *y);
  const uint8_t* first = y->data();
  EXPECT_EQ(y->data(), first);
  EXPECT_EQ(y->computed().data(), first);  // the elements are kept, so they are not computed again
  y->deferred()->release();
  expect_transposed(*x, y->computed());
  expect_transposed(*x, *y);
}

TEST(DeferredConstants, SmallOnesAreComputedAtOnce) {
  const TensorRef x = shared(pattern(DType::f32, {3, 5}));
  EXPECT_FALSE(transposed(x)->deferred());
}

TEST(DeferredConstants, ViewsShareTheElements) {
  const TensorRef x = matrix(DType::f32), y = transposed(x);
  const Tensor flat = y->reshaped({kRows * kColumns});
  EXPECT_EQ(flat.data(), y->data());
  EXPECT_EQ(flat.computed().shape(), flat.shape());
}

TEST(DeferredConstants, AreComparedByTheirRecipes) {
  const TensorRef x = matrix(DType::f32), other = shared(pattern(DType::f32, {kRows, kColumns}, 4));
  EXPECT_TRUE(same_elements(*transposed(x), *transposed(x)));
  EXPECT_TRUE(same_elements(*transposed(x), *transposed(shared(pattern(DType::f32, {kRows, kColumns}, 3)))));
  EXPECT_FALSE(same_elements(*transposed(x), *transposed(other)));
  EXPECT_FALSE(same_elements(*joined(x, other), *joined(other, x)));
  EXPECT_TRUE(same_elements(*transposed(transposed(x)), *x));  // one constant is in memory, so bytes are compared
}

TEST(DeferredConstants, ReleasedGraphsComputeThemAgain) {
  Graph graph;
  const TensorRef x = matrix(DType::f32);
  const ValueId v = graph.add_constant("w", *transposed(x));
  const uint8_t* first = graph.value(v).constant->data();
  ASSERT_NE(first, nullptr);
  release_constants(graph);
  expect_transposed(*x, *graph.value(v).constant);
}

/// All 65,536 numbers of a type, ten times, as a matrix.
TensorRef all_numbers(DType type) {
  Tensor t(type, {640, 1024});
  for (int64_t i = 0; i < t.elements(); ++i)
    t.as_mutable<uint16_t>()[static_cast<size_t>(i)] = static_cast<uint16_t>(i);
  return shared(std::move(t));
}

TEST(DeferredConstants, WideningIsExactAndUndone) {
  for (const DType type : {DType::f16, DType::bf16}) {
    const TensorRef narrow = all_numbers(type), wide = shared(widened(narrow));
    for (int64_t i = 0; i < narrow->elements(); ++i) {
      const double x = narrow->at_double(i), y = wide->at_double(i);
      ASSERT_TRUE(x == y || (std::isnan(x) && std::isnan(y))) << i;
    }
    EXPECT_EQ(widened_from(wide, type), std::vector<TensorRef>{narrow});
    EXPECT_EQ(rounded(wide, type).data(), narrow->data());
    EXPECT_TRUE(widened_from(wide, type == DType::f16 ? DType::bf16 : DType::f16).empty());
  }
}

TEST(DeferredConstants, MovementsOfWidenedNumbersAreMovementsOfNarrowOnes) {
  const TensorRef a = matrix(DType::f16), b = shared(pattern(DType::f16, {kRows, kColumns}, 5));
  const TensorRef moved = transposed(joined(shared(widened(a)), shared(widened(b))));
  EXPECT_EQ(widened_from(moved, DType::f16), (std::vector<TensorRef>{a, b}));
  const Tensor narrow = rounded(moved, DType::f16);
  EXPECT_TRUE(same_elements(narrow, *transposed(joined(a, b))));
  for (int64_t i = 0; i < narrow.elements(); ++i) ASSERT_EQ(narrow.at_double(i), moved->at_double(i));
  const TensorRef mixed = joined(shared(widened(a)), matrix(DType::f32));
  EXPECT_TRUE(widened_from(mixed, DType::f16).empty());
}

TEST(DeferredConstants, WhatIsMovedIsMovedFromTheWideSource) {
  const TensorRef a = matrix(DType::f16);
  Tensor turned = *transposed(a);
  turned.set_rearrangement(std::make_shared<const Rearrangement>(Rearrangement{&op_Transpose, {}, a}));
  const Tensor wide = widened(shared(turned));
  ASSERT_TRUE(wide.rearrangement());
  EXPECT_TRUE(same_elements(*wide.rearrangement()->source, widened(a)));
  expect_transposed(*a, wide);
}

TEST(DeferredConstants, OtherNumbersAreRoundedToNearest) {
  const TensorRef x = matrix(DType::f32);
  for (const DType type : {DType::f16, DType::bf16}) {
    const Tensor narrow = rounded(x, type);
    for (int64_t i = 0; i < 5000; ++i) {
      Tensor one(type, {1});
      one.set_double(0, x->at_double(i));
      ASSERT_EQ(narrow.at_double(i), one.at_double(0));
    }
  }
}

TEST(DeferredConstants, PackingReadsTheSourceOfATransposedMatrix) {
  Graph graph;
  const TensorRef x = matrix(DType::f32);
  const ValueId w = graph.add_constant("w", *x);
  const ValueId turned = graph.node(graph.add_node(op_Transpose, "t", {w}, 1)).outputs[0];
  const ValueId packed = graph.node(graph.add_node(op_gart_PackMatMul, "p", {turned}, 1)).outputs[0];
  graph.outputs.push_back(packed);
  infer_graph(graph);
  fold_constants(graph);
  const Tensor& panels = *graph.value(packed).constant;
  ASSERT_TRUE(panels.deferred());
  EXPECT_EQ(panels.deferred()->recipe().inputs[0]->data(), x->data());
  for (int64_t k = 0; k < kColumns; ++k)
    for (int64_t n = 0; n < kRows; ++n)
      ASSERT_EQ(panels.at_double((n / 48 * kColumns + k) * 48 + n % 48), x->at_double(n * kColumns + k));
}

}  // namespace
}  // namespace gcg::test
