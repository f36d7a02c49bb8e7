#include "compiler/passes/pack_weights.h"

#include <gtest/gtest.h>

#include "compiler/passes/fold_constants.h"
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

/// The operators of a graph with a table of `rows` rows that is also, transposed, a product's factor.
Counts tied(int64_t rows, const std::string& more = "") {
  const std::string text =
      concat("graph g(%i: i64[n], %x: f32[n,2], %b: f32[2]) -> (%y, %r, %q) {\n  constant %t: f32[", rows,
             R"(,2] = random(1)
    %r = Gather(%t, %i)
    %w = Transpose(%t) {perm = [1, 0]}
    %y = MatMul(%x, %w)
    %q = )",
             more, "\n}");
  return op_counts(check_rewrite(text,
                                 [](Graph& g) {
                                   fold_constants(g);
                                   pack_weights(g, *find_target("x86-64-v3"));
                                   return true;
                                 },
                                 true, {{"n", 3}}));
}

TEST(PackWeights, ATableThatIsAlsoAFactorIsReadInPanels) {
  const Counts packed = {{"gart.PackMatMul", 1}, {"gart.PackedMatMul", 1}};
  Counts wanted = packed;
  wanted["gart.PackedRows"] = 2;
  EXPECT_EQ(tied(5000, "Gather(%t, %i) {axis = -2}"), wanted);
  wanted = packed;
  wanted["Gather"] = 2;
  EXPECT_EQ(tied(3000, "Gather(%t, %i)"), wanted);  // has few rows
  wanted["Gather"] = 1;
  wanted["Add"] = 1;
  EXPECT_EQ(tied(5000, "Add(%t, %b)"), wanted);  // the table stays in the file
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
