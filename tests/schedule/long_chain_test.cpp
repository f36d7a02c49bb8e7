// Graphs with very long chains of nodes: kernels must stay small, and recursion over expressions must stay shallow.
#include <gtest/gtest.h>

#include <ctime>
#include <string>

#include "compiler/gir/gir.h"
#include "compiler/kernel/kernel.h"
#include "compiler/passes/pass.h"
#include "compiler/plan/make_plan.h"

namespace gcg {
namespace {

/// x0 -> op -> x1 -> op -> ... -> x<count>
Graph chain(const std::string& op, const std::string& rest, int count) {
  std::string text = "graph g(%x0: f32[4,8]) -> (%x" + std::to_string(count) + ") {\n";
  for (int i = 1; i <= count; ++i)
    text += "  %x" + std::to_string(i) + " = " + op + "(%x" + std::to_string(i - 1) + rest + "\n";
  return parse_graph(text + "}\n");
}

int largest_kernel(const Plan& plan) {
  int largest = 0;
  for (const Kernel& kernel : plan.kernels)
    for (const Stage& stage : std::get<LoopKernel>(kernel.body).stages) {
      int nodes = 0;
      visit(stage.value, [&](const ExprNode&) { ++nodes; });
      largest = std::max(largest, nodes);
    }
  return largest;
}

TEST(LongChain, IsCutIntoKernelsOfBoundedSize) {
  for (const char* op : {"Sin", "Neg"}) {
    const Plan plan = make_plan(chain(op, ")", 10000));
    const auto steps = static_cast<int>(plan.sequences.back().steps.size());
    EXPECT_GT(steps, 10) << op;
    EXPECT_LT(steps, 1000) << op;
    EXPECT_LT(largest_kernel(plan), 2000) << op;
    EXPECT_LT(plan.kernels.size(), 5U) << op << ": equal pieces share a kernel";
  }
}

TEST(LongChain, OfAnEpilogueEndsToo) {
  std::string text = "graph g(%x: f32[4,8], %w: f32[8,8]) -> (%x3000) {\n  %x0 = MatMul(%x, %w)\n";
  for (int i = 1; i <= 3000; ++i) text += "  %x" + std::to_string(i) + " = Tanh(%x" + std::to_string(i - 1) + ")\n";
  const Plan plan = make_plan(parse_graph(text + "}\n"));
  EXPECT_GT(plan.sequences.back().steps.size(), 10U);
}

TEST(LongChain, OfTransposesAndIdentitiesFoldsAway) {
  for (const auto& [op, rest] :
       {std::pair("Transpose", ") {perm = [1,0]}"), std::pair("Identity", ")"), std::pair("Relu", ")")}) {
    Graph g = chain(op, rest, 20000);
    run_passes(g, shape_passes(), nullptr, PassOptions{});
    EXPECT_LE(g.order().size(), 2U) << op << ": an output keeps a node of its own";
  }
}

/// If a pass visits all readers of a value for each reader, this test takes more than ten times as long.
TEST(LongChain, OfManyReadersOfOneValueEnds) {
  std::string text = "graph g(%x: f32[4,8]) -> (%x40000) {\n  %r = Softmax(%x)\n  %x0 = Sin(%x)\n";
  for (int i = 1; i <= 40000; ++i)
    text +=
        "  %x" + std::to_string(i) + " = " + (i % 2 == 0 ? "Add" : "Mul") + "(%x" + std::to_string(i - 1) + ", %r)\n";
  Graph g = parse_graph(text + "}\n");
  const std::clock_t begin = std::clock();
  run_passes(g, shape_passes(), nullptr, PassOptions{});
  EXPECT_LT(std::clock() - begin, 5 * CLOCKS_PER_SEC);
  EXPECT_GT(g.order().size(), 20000U);
}

}  // namespace
}  // namespace gcg
