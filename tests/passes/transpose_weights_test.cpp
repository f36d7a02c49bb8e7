#include "compiler/passes/transpose_weights.h"

#include <gtest/gtest.h>

#include "compiler/gir/gir.h"
#include "compiler/ops/infer.h"
#include "compiler/passes/fold_constants.h"
#include "compiler/support/error.h"
#include "tests/passes/rewrite_test.h"

namespace gcg::test {
namespace {

using Counts = std::map<std::string, int>;

Graph turn(const std::string& text, bool changes, const char* name = "sm_90a", Precision precision = Precision::fp16) {
  Target target = *find_target(name);
  target.precision = precision;
  return check_rewrite(text, [&](Graph& g) { return transpose_weights(g, target); }, changes, {});
}

std::string product(int rows, int depth, int columns = 96) {
  return concat("graph g(%x: f32[", rows, ",", depth, "]) -> (%y) {\n  constant %w: f32[", depth, ",", columns,
                "] = random(1)\n  %y = MatMul(%x, %w)\n}");
}

/// The constant factor of the product that makes the graph's output.
const Tensor& weights_of(const Graph& graph) {
  const Node& matmul = graph.node(graph.value(graph.outputs[0]).producer);
  const Node& transpose = graph.node(graph.value(matmul.inputs[1]).producer);
  return *graph.value(transpose.inputs[0]).constant;
}

TEST(TransposeWeights, StoresThemByColumns) {
  const Graph after = turn(product(128, 64), true);
  EXPECT_EQ(op_counts(after), (Counts{{"MatMul", 1}, {"Transpose", 1}}));
  EXPECT_EQ(weights_of(after).shape(), (std::vector<int64_t>{96, 64}));
  EXPECT_EQ(weights_of(turn(R"(graph g(%x: f32[3,40,72]) -> (%y) {
    constant %w: f32[3,72,33] = random(1)
    %y = MatMul(%x, %w)
  })",
                            true))
                .shape(),
            (std::vector<int64_t>{3, 33, 72}));
}

TEST(TransposeWeights, OnceForAllProducts) {
  const Graph after = turn(R"(graph g(%x: f32[3,64], %z: f32[20,64]) -> (%y, %v) {
    constant %w: f32[64,96] = random(1)
    %y = MatMul(%x, %w)
    %v = MatMul(%z, %w)
  })",
                           true);
  EXPECT_EQ(op_counts(after), (Counts{{"MatMul", 2}, {"Transpose", 1}}));
}

TEST(TransposeWeights, TakesBackATransposition) {
  Graph graph = parse_graph(R"(graph g(%x: f32[3,64], %i: i64[2]) -> (%y, %e) {
    constant %table: f32[96,64] = random(1)
    %w = Transpose(%table) {perm = [1,0]}
    %y = MatMul(%x, %w)
    %e = Gather(%table, %i)
  })");
  infer_graph(graph);
  fold_constants(graph);
  const Tensor* table = nullptr;
  for (int64_t i = 0; i < graph.value_count(); ++i)
    if (graph.value(ValueId(i)).name == "table") table = graph.value(ValueId(i)).constant.get();
  EXPECT_TRUE(transpose_weights(graph, *find_target("sm_90a")));
  EXPECT_EQ(&weights_of(graph), table);
}

/// The pass leaves rows that do not fill whole 16-byte units, and matrices that other GPUs read unchanged.
TEST(TransposeWeights, LeavesOthers) {
  turn(product(1, 68), false);
  turn(product(1, 68), true, "sm_90a", Precision::fp32);
  turn(product(1, 66), false, "sm_90a", Precision::fp32);
  turn(product(16, 64), true, "sm_80");
  turn(product(17, 64), false, "sm_80");
  turn(product(1, 64), false, "sm_80", Precision::fp32);
  turn(product(1, 64), false, "sm_75");
  turn(product(1, 64, 8), false);
}

}  // namespace
}  // namespace gcg::test
