#include "compiler/passes/pack_weights.h"

#include <gtest/gtest.h>

#include "tests/passes/rewrite_test.h"

namespace gcg::test {
namespace {

using Counts = std::map<std::string, int>;

Graph check(const std::string& text, bool changes, const std::map<std::string, int64_t>& symbols = {}) {
  return check_rewrite(text, [](Graph& g) { return pack_weights(g, *find_target("x86-64-v3")); }, changes, symbols);
}

TEST(PackWeights, PacksAConstantRightOperand) {
  const Graph after = check(R"(graph g(%x: f32[b,3,64]) -> (%y) {
    constant %w: f32[64,100] = random(1)
    %y = MatMul(%x, %w)
  })",
                            true, {{"b", 2}});
  EXPECT_EQ(op_counts(after), (Counts{{"gart.PackMatMul", 1}, {"gart.PackedMatMul", 1}}));
}

bool is_near(const std::string& columns) {
  const Graph after = check(
      "graph g(%x: f32[1,1024]) -> (%y) { constant %w: f32[1024," + columns + "] = random(1)  %y = MatMul(%x, %w) }",
      true);
  const Node& product = after.node(after.value(after.outputs[0]).producer);
  return product.int_attribute("near", 0) != 0;
}

TEST(PackWeights, KnowsWhatTheLastCacheHolds) {
  EXPECT_TRUE(is_near("1024"));
  EXPECT_FALSE(is_near("8192"));  // 32 MB
}

TEST(PackWeights, PacksASharedMatrixOnce) {
  const Graph after = check(R"(graph g(%x: f32[2,64], %z: f32[64]) -> (%y, %v) {
    constant %w: f32[64,64] = random(1)
    %y = MatMul(%x, %w)
    %v = MatMul(%z, %w)
  })",
                            true);
  EXPECT_EQ(op_counts(after), (Counts{{"gart.PackMatMul", 1}, {"gart.PackedMatMul", 2}}));
}

TEST(PackWeights, LeavesWhatIsNotAConstantMatrix) {
  check(R"(graph g(%x: f32[2,64], %w: f32[64,64]) -> (%y) {
    %y = MatMul(%x, %w)
  })",
        false);
  check(R"(graph g(%x: f32[2,2,64]) -> (%y) {
    constant %w: f32[2,64,64] = random(1)
    %y = MatMul(%x, %w)
  })",
        false);
  check(R"(graph g(%x: f32[64,64]) -> (%y) {
    constant %w: f32[64,64] = random(1)
    %y = MatMul(%w, %x)
  })",
        false);
}

TEST(PackWeights, LeavesSmallAndIntegerMatrices) {
  check(R"(graph g(%x: f32[2,4]) -> (%y) {
    constant %w: f32[4,4] = random(1)
    %y = MatMul(%x, %w)
  })",
        false);
  check(R"(graph g(%x: i32[2,64]) -> (%y) {
    constant %w: i32[64,64] = random(1)
    %y = MatMul(%x, %w)
  })",
        false);
}

}  // namespace
}  // namespace gcg::test
