// NegativeLogLikelihoodLoss, and SoftmaxCrossEntropyLoss as the importer rewrites it.
#include <gtest/gtest.h>

#include "tests/ops/op_test.h"

namespace gcg::test {
namespace {

using Attributes = std::map<std::string, Attribute>;

TEST(NllLoss, GivesTheLiteral) {
  const OpInput x = data(f32({2, 3}, {-1, -2, -3, -4, -5, -6})), target = data(i64({2}, {2, 0}));
  const auto reduced = [](const char* how) { return Attributes{{"reduction", std::string(how)}}; };
  check_op({"none", "NegativeLogLikelihoodLoss", {x, target}, reduced("none"), {f32({2}, {3, 4})}});
  check_op({"sum", "NegativeLogLikelihoodLoss", {x, target}, reduced("sum"), {f32({}, {7})}});
  check_op({"mean", "NegativeLogLikelihoodLoss", {x, target}, {}, {f32({}, {3.5})}});
  const OpInput weights = data(f32({3}, {1, 2, 3}));
  check_op({"weighted mean", "NegativeLogLikelihoodLoss", {x, target, weights}, {}, {f32({}, {13.0 / 4})}});
}

TEST(NllLoss, IgnoresAnIndex) {
  const OpInput x = data(pattern(DType::f32, {2, 4, 3})), target = data(i64({2, 3}, {0, -1, 3, -1, 2, 1}));
  for (const char* how : {"none", "sum", "mean"})
    for (const bool weighted : {false, true}) {
      std::vector<OpInput> inputs = {x, target};
      if (weighted) inputs.push_back(data(f32({4}, {1, 2, 3, 0.5})));
      check_op({concat(how, weighted ? ", weighted" : ""),
                "NegativeLogLikelihoodLoss",
                inputs,
                {{"reduction", std::string(how)}, {"ignore_index", int64_t{-1}}}});
    }
  EXPECT_NE(refusal({"no class", "NegativeLogLikelihoodLoss", {x, target}}).find("class -1 of element 1"),
            std::string::npos);
}

TEST(NllLoss, Refuses) {
  const OpInput x = data(pattern(DType::f32, {2, 4})), target = data(i64({2}, {0, 1}));
  EXPECT_NE(refusal({"reduction", "NegativeLogLikelihoodLoss", {x, target}, {{"reduction", std::string("max")}}})
                .find("'max'"),
            std::string::npos);
  EXPECT_NE(
      refusal({"weights", "NegativeLogLikelihoodLoss", {x, target, data(f32({3}, {1}))}}).find("weights and classes"),
      std::string::npos);
}

TEST(CrossEntropy, IsTheLossOfLogSoftmax) {
  Graph graph;
  Node node;
  node.op = &op("SoftmaxCrossEntropyLoss");
  node.name = "loss";
  for (const char* name : {"scores", "labels", "loss", "log_prob"}) {
    Value v;
    v.name = name;
    (node.inputs.size() < 2 ? node.inputs : node.outputs).push_back(graph.add_value(std::move(v)));
  }
  const ValueId log_prob = node.outputs[1];
  UpgradeContext context{graph, node, 13};
  node.op->upgrade(context);
  EXPECT_STREQ(node.op->name, "NegativeLogLikelihoodLoss");
  EXPECT_EQ(node.inputs[0], log_prob);
  EXPECT_EQ(node.outputs.size(), 1u);
  EXPECT_STREQ(graph.node(graph.value(log_prob).producer).op->name, "LogSoftmax");
}

}  // namespace
}  // namespace gcg::test
