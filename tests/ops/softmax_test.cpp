#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/ops/op_test.h"

namespace gcg::test {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
const double kNan = std::nan("");
const char* const kForms[] = {"Softmax", "LogSoftmax", "Hardmax"};

TEST(Softmax, GivesTheLiteralOfEachForm) {
  const Tensor x = f32({2, 3}, {1, 2, 3, 5, 5, -1});
  check_op({"rows",
            "Softmax",
            {data(x)},
            {},
            {f32({2, 3}, {0.0900305732, 0.2447284711, 0.6652409558, 0.4993810, 0.4993810, 0.0012378})},
            1,
            true,
            1e-5});
  check_op({"rows",
            "LogSoftmax",
            {data(x)},
            {},
            {f32({2, 3}, {-2.4076059644, -1.4076059644, -0.4076059644, -0.6943859, -0.6943859, -6.6943859})},
            1,
            true,
            1e-5});
  check_op({"first of equals", "Hardmax", {data(x)}, {}, {f32({2, 3}, {0, 0, 1, 1, 0, 0})}});
}

TEST(Softmax, TakesEveryAxis) {
  for (const char* op : kForms) {
    for (int64_t axis : {-3, -2, -1, 0, 1, 2}) {
      check_op({"axis", op, {data(pattern(DType::f32, {2, 3, 5}))}, {{"axis", axis}}});
    }
    for (int64_t axis : {0, 1, 2}) {
      check_op(
          {"flattened at axis", op, {data(pattern(DType::f32, {2, 3, 5}))}, {{"axis", axis}, {"flatten", int64_t{1}}}});
    }
    check_op({"f64", op, {data(pattern(DType::f64, {3, 7}))}, {}, {}, 1, true, 1e-12});
    check_op({"extent 1", op, {data(f32({2, 1}, {3, -kInf}))}});
    check_op({"empty row", op, {data(Tensor(DType::f32, {2, 0}))}});
    check_op({"no rows", op, {data(Tensor(DType::f32, {0, 3}))}});
    check_op({"inf, nan and large", op, {data(f32({4, 2}, {kInf, 1, -kInf, 1, kNan, 1, 1000, 999}))}});
    check_op({"all -inf", op, {data(f32({1, 2}, {-kInf, -kInf}))}});
    EXPECT_NE(refusal({"integers", op, {data(i64({2}, {1}))}}).find("must be a float type"), std::string::npos);
  }
}

TEST(Softmax, BeforeOpset13FlattensAtTheAxis) {
  Graph graph;
  Value x;
  x.name = "x";
  x.dtype = DType::f32;
  x.shape = Shape{2, 3, 4};
  Node node;
  node.op = &op("Softmax");
  node.inputs = {graph.add_value(x)};
  UpgradeContext old{graph, node, 12};
  node.op->upgrade(old);
  EXPECT_EQ(node.int_attribute("axis", 7), 1);
  EXPECT_EQ(node.int_attribute("flatten", 0), 1);
  node.attributes = {{"axis", int64_t{2}}};
  node.op->upgrade(old);
  EXPECT_FALSE(node.has_attribute("flatten"));  // newer models always normalise the given axis only
  node.attributes = {};
  UpgradeContext now{graph, node, 13};
  node.op->upgrade(now);
  EXPECT_TRUE(node.attributes.empty());
}

}  // namespace
}  // namespace gcg::test
