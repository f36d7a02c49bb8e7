// An operator that only this file defines: passes, fusion and layout use its traits, never its name.
#include <gtest/gtest.h>

#include <cmath>

#include "compiler/fusion/fusion_costs.h"
#include "compiler/gir/gir.h"
#include "compiler/ops/infer.h"
#include "compiler/ops/pointwise.h"
#include "compiler/passes/block_channels.h"
#include "compiler/passes/channels_last.h"
#include "compiler/passes/narrow_storage.h"
#include "compiler/plan/make_plan.h"

namespace gcg::test {
namespace {

/// x / (2 + |x|)
Expr build_softer(const Node&, const Expr& x) {
  return binary(BinaryOp::div, x, constant_float(x->dtype, 2) + unary(UnaryOp::abs, x));
}
constexpr auto kSofter = [](const Node&, double x) { return x / (2 + std::fabs(x)); };

constinit const OpDef op_Softer = float_function<build_softer, kSofter>("Softer", 1);
constinit const OpDef op_ExpensiveSofter =
    float_function<build_softer, kSofter>("ExpensiveSofter", 1, {.cost = Cost::expensive});
constinit const OpDef op_WideSofter = float_function<build_softer, kSofter>("WideSofter", 1, {.narrow = Narrow::no});

/// The graph with `softer` in place of each Relu.
Graph with(const OpDef& softer, const std::string& text) {
  Graph graph = parse_graph(text);
  for (NodeId id : graph.order())
    if (graph.node(id).op == &op("Relu")) graph.node(id).op = &softer;
  infer_graph(graph);
  return graph;
}

Value& named(Graph& graph, const std::string& name) {
  for (int i = 0; i < graph.value_count(); ++i)
    if (graph.value(ValueId(i)).name == name) return graph.value(ValueId(i));
  throw std::runtime_error("no value " + name);
}

constexpr const char* kProducts = R"(graph g(%x: f32[4,8]) -> (%y) {
  constant %w: f32[8,16] = random(1)
  constant %v: f32[16,8] = random(2)
  %p = MatMul(%x, %w)
  %r = Relu(%p)
  %y = MatMul(%r, %v)
})";

constexpr const char* kImages = R"(graph g(%x: f32[1,16,9,9]) -> (%y) {
  constant %w: f32[16,3,3,16] = random(1)
  %c = gart.PlainConv(%x, %w)
  %r = Relu(%c)
  %y = gart.PlainConv(%r, %w)
})";

TEST(NewOperator, JoinsTheProductBeforeIt) {
  for (DeviceClass device : {DeviceClass::cpu, DeviceClass::cuda})
    EXPECT_EQ(make_plan(with(op_Softer, kProducts), device).entry().steps.size(),
              make_plan(with(op("Relu"), kProducts), device).entry().steps.size());
}

TEST(NewOperator, CostsWhatItsTraitsSay) {
  const Graph plain = with(op_Softer, kProducts), expensive = with(op_ExpensiveSofter, kProducts);
  const auto cost_of = [](const Graph& g, const OpDef& o) {
    for (NodeId id : g.order())
      if (g.node(id).op == &o) return cost(g.node(id));
    return 0.0;
  };
  EXPECT_EQ(cost_of(plain, op_Softer), cost_of(with(op("Relu"), kProducts), op("Relu")));
  EXPECT_GT(cost_of(expensive, op_ExpensiveSofter), cost_of(plain, op_Softer));
}

TEST(NewOperator, IsStoredIn16BitsUnlessItsTraitsForbidIt) {
  Target target = *find_target("sm_80");
  target.precision = Precision::fp16;
  Graph links = with(op_Softer, kProducts), forbids = with(op_WideSofter, kProducts);
  narrow_storage(links, target);
  narrow_storage(forbids, target);
  EXPECT_EQ(named(links, "r").stored, DType::f16);
  EXPECT_EQ(named(links, "p").stored, DType::f16);
  EXPECT_EQ(named(forbids, "r").stored, DType::undefined);
  EXPECT_EQ(named(forbids, "p").stored, DType::undefined);
}

TEST(NewOperator, KeepsChannelsLast) {
  Graph graph = with(op_Softer, kImages);
  channels_last(graph);
  EXPECT_TRUE(named(graph, "r").channels_last);
}

TEST(NewOperator, StaysInBlocksOfChannels) {
  Graph graph = with(op_Softer, R"(graph g(%x: f32[1,16,9,9]) -> (%y) {
    constant %w: f32[16,16,3,3] = random(1)
    %c = Conv(%x, %w) {pads = [1,1,1,1]}
    %r = Relu(%c)
    %y = Conv(%r, %w) {pads = [1,1,1,1]}
  })");
  ASSERT_TRUE(block_channels(graph, *find_target("x86-64-v3")));
  int conversions = 0, softer = 0;
  for (NodeId id : graph.order()) {
    const Node& n = graph.node(id);
    softer += n.op == &op_Softer;
    conversions += n.op == &op("BlockChannels", "gart") || n.op == &op("UnblockChannels", "gart");
  }
  EXPECT_EQ(softer, 1);
  EXPECT_EQ(conversions, 2);  // conversions of the input and the output
}

}  // namespace
}  // namespace gcg::test
