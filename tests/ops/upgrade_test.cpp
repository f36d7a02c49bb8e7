// Nodes of older opsets upgraded to the newest form: attributes that became inputs.
#include <gtest/gtest.h>

#include "compiler/ops/infer.h"
#include "compiler/passes/fold_constants.h"
#include "compiler/support/error.h"
#include "tests/ops/op_test.h"

namespace gcg::test {
namespace {

using Attributes = std::map<std::string, Attribute>;

/// A node of `version` after its operator's upgrade; x is its first input.
struct Upgraded {
  Graph graph;
  Node node;

  Upgraded(const char* name, int version, Attributes attributes, size_t outputs = 1) {
    Value x;
    x.name = "x";
    x.dtype = DType::f32;
    x.shape = Shape{Dim(4)};
    node.op = &op(name);
    node.name = name;
    node.attributes = std::move(attributes);
    node.inputs = {graph.add_value(std::move(x))};
    node.outputs.resize(outputs);
    UpgradeContext context{graph, node, version};
    if (node.op->upgrade) node.op->upgrade(context);
  }

  std::vector<int64_t> ints(size_t i) const { return graph.value(node.inputs.at(i)).constant->to_ints(); }
  double number(size_t i) const { return graph.value(node.inputs.at(i)).constant->at_double(0); }
};

TEST(Upgrade, AxesBecomeAnInput) {
  for (const char* name : {"Squeeze", "Unsqueeze"}) {
    const Upgraded old(name, 11, {{"axes", std::vector<int64_t>{0, 2}}});
    EXPECT_EQ(old.ints(1), (std::vector<int64_t>{0, 2}));
    EXPECT_FALSE(old.node.has_attribute("axes"));
  }
  EXPECT_EQ(Upgraded("Squeeze", 11, {}).node.inputs.size(), 1u);
}

TEST(Upgrade, SliceBoundsBecomeInputs) {
  const Upgraded old(
      "Slice", 9,
      {{"starts", std::vector<int64_t>{1}}, {"ends", std::vector<int64_t>{3}}, {"axes", std::vector<int64_t>{0}}});
  EXPECT_EQ(old.ints(1), std::vector<int64_t>{1});
  EXPECT_EQ(old.ints(2), std::vector<int64_t>{3});
  EXPECT_EQ(old.ints(3), std::vector<int64_t>{0});
  EXPECT_EQ(
      Upgraded("Slice", 9, {{"starts", std::vector<int64_t>{1}}, {"ends", std::vector<int64_t>{3}}}).node.inputs.size(),
      3u);
}

TEST(Upgrade, ClipBoundsBecomeInputs) {
  const Upgraded both("Clip", 10, {{"min", 0.0}, {"max", 6.0}});
  EXPECT_EQ(both.number(1), 0);
  EXPECT_EQ(both.number(2), 6);
  const Upgraded only_max("Clip", 6, {{"max", 6.0}});
  EXPECT_FALSE(only_max.node.inputs[1].valid());
  EXPECT_EQ(only_max.number(2), 6);
  EXPECT_EQ(Upgraded("Clip", 6, {}).node.inputs.size(), 1u);
}

TEST(Upgrade, PadsAndSplitBecomeInputs) {
  const Upgraded pad("Pad", 2, {{"pads", std::vector<int64_t>{1, 2}}, {"value", 3.0}});
  EXPECT_EQ(pad.ints(1), (std::vector<int64_t>{1, 2}));
  EXPECT_EQ(pad.number(2), 3);
  EXPECT_EQ(Upgraded("Split", 11, {{"split", std::vector<int64_t>{1, 3}}}, 2).ints(1), (std::vector<int64_t>{1, 3}));
}

TEST(Upgrade, TheNewShapeBecomesAnInput) {
  const Upgraded old("Reshape", 1, {{"shape", std::vector<int64_t>{2, -1}}});
  EXPECT_EQ(old.ints(1), (std::vector<int64_t>{2, -1}));
  EXPECT_FALSE(old.node.has_attribute("shape"));
  EXPECT_EQ(Upgraded("Reshape", 5, {}).node.inputs.size(), 1u);
}

TEST(Upgrade, BroadcastingOnDemandAlignsTheSecondOperand) {
  Graph graph;
  Value x;
  x.name = "x";
  x.dtype = DType::f32;
  x.shape = Shape{Dim(2), Dim(3), Dim(4)};
  Node node;
  node.op = &op("Sub");
  node.name = "sub";
  node.attributes = {{"broadcast", int64_t{1}}, {"axis", int64_t{1}}};
  node.inputs = {graph.add_value(std::move(x)), graph.add_constant("b", f32({3}, {1, 2, 3}))};
  UpgradeContext context{graph, node, 6};
  node.op->upgrade(context);
  EXPECT_TRUE(node.attributes.empty());
  infer_graph(graph);
  fold_constants(graph);
  EXPECT_EQ(graph.value(node.inputs[1]).shape, (Shape{Dim(3), Dim(1)}));
  node.attributes = {{"broadcast", int64_t{1}}, {"axis", int64_t{-1}}};
  EXPECT_THROW(node.op->upgrade(context), CompileError);
}

TEST(Upgrade, WithoutIsTestItIsTraining) {
  for (const char* name : {"Dropout", "BatchNormalization"}) {
    EXPECT_THROW(Upgraded(name, 6, {}), CompileError);
    EXPECT_TRUE(Upgraded(name, 6, {{"is_test", int64_t{1}}}).node.attributes.empty());
    EXPECT_TRUE(Upgraded(name, 9, {}).node.attributes.empty());
  }
}

TEST(Upgrade, DropoutForgetsItsRatio) {
  EXPECT_FALSE(Upgraded("Dropout", 10, {{"ratio", 0.5}}).node.has_attribute("ratio"));
}

TEST(Upgrade, NewFormsStayAsTheyAre) {
  EXPECT_EQ(Upgraded("Clip", 13, {}).node.inputs.size(), 1u);
  EXPECT_EQ(Upgraded("Pad", 18, {{"mode", std::string("edge")}}).node.inputs.size(), 1u);
  EXPECT_EQ(Upgraded("Split", 18, {{"num_outputs", int64_t{2}}}, 2).node.inputs.size(), 1u);
}

TEST(Upgrade, UpsampleIsResize) {
  const Upgraded old("Upsample", 7, {{"mode", std::string("bilinear")}, {"scales", std::vector<double>{2}}});
  EXPECT_STREQ(old.node.op->name, "Resize");
  EXPECT_EQ(old.number(2), 2);
  EXPECT_EQ(old.node.string_attribute("mode", ""), "linear");
  EXPECT_EQ(old.node.string_attribute("coordinate_transformation_mode", ""), "asymmetric");
  EXPECT_EQ(Upgraded("Resize", 10, {}).node.string_attribute("nearest_mode", ""), "simple");
  EXPECT_FALSE(Upgraded("Resize", 11, {}).node.has_attribute("nearest_mode"));
}

}  // namespace
}  // namespace gcg::test
