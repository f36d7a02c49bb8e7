#include <gtest/gtest.h>

#include <limits>

#include "tests/ops/op_test.h"

// Literals that are not obvious come from onnxruntime 1.31 on the same pattern() tensors.
namespace gcg::test {
namespace {

using Ints = std::vector<int64_t>;
using Attributes = std::map<std::string, Attribute>;

OpCase conv(std::string what, Ints x, Ints w, Attributes attributes, bool bias = false) {
  OpCase row = {std::move(what),
                "Conv",
                {data(pattern(DType::f32, std::move(x), 1)), data(pattern(DType::f32, w, 2))},
                std::move(attributes)};
  if (bias) row.inputs.push_back(data(pattern(DType::f32, {w[0]}, 3)));
  row.tolerance = 1e-5;
  return row;
}

TEST(Conv, GivesTheLiteral) {
  OpCase strided = {
      "strides, uneven pads, dilations",
      "Conv",
      {data(pattern(DType::f32, {1, 1, 5, 5})), data(pattern(DType::f32, {2, 1, 3, 3}, 2)), data(f32({2}, {1, -1}))},
      {{"strides", Ints{2, 2}}, {"pads", Ints{0, 1, 2, 1}}, {"dilations", Ints{1, 2}}},
      {f32({1, 2, 3, 2}, {-8.46875, -9.53125, -4.84375, -8.09375, 3.125, 1.25, -11.796875, -5.171875, -10.90625,
                          -7.109375, -1.21875, -3.09375})}};
  check_op(strided);
  OpCase grouped = conv("1-D, two groups", {1, 4, 5}, {4, 2, 3}, {{"group", int64_t{2}}, {"pads", Ints{1, 1}}});
  grouped.expected = {f32(
      {1, 4, 5}, {-3.375, -3.03125, -3.875,   -2.15625, 1,        -3.90625, -7.015625, -3.34375, 2.890625, 9.5,
                  9.875,  6.171875, 6.671875, -1.15625, -2.03125, -3.6875,  -5.1875,   -5.9375,  -4.125,   -1.4375})};
  check_op(grouped);
}

TEST(Conv, TakesEveryRankAndAttribute) {
  check_op(conv("1x1", {2, 3, 4, 5}, {4, 3, 1, 1}, {}, true));
  check_op(conv("3x3 padded", {1, 3, 5, 4}, {2, 3, 3, 3}, {{"pads", Ints{1, 1, 1, 1}}}, true));
  check_op(conv("kernel as large as the input", {1, 2, 3, 3}, {2, 2, 3, 3}, {{"kernel_shape", Ints{3, 3}}}));
  check_op(conv("1-D strided", {2, 3, 9}, {2, 3, 4}, {{"strides", Ints{3}}, {"pads", Ints{2, 0}}}));
  check_op(conv("3-D", {1, 2, 3, 4, 3}, {2, 2, 2, 3, 2}, {{"pads", Ints{0, 1, 0, 1, 1, 1}}, {"strides", Ints{1, 2, 1}}},
                true));
  check_op(conv("depthwise", {1, 4, 5, 5}, {4, 1, 3, 3}, {{"group", int64_t{4}}, {"pads", Ints{1, 1, 1, 1}}}));
  check_op(conv("depthwise, two outputs a channel", {1, 3, 4, 4}, {6, 1, 2, 2}, {{"group", int64_t{3}}}));
  check_op(conv("extent 1", {1, 1, 1, 1}, {1, 1, 1, 1}, {}));
  check_op(conv("batch 0", {0, 2, 3, 3}, {2, 2, 2, 2}, {}));
  for (const char* pad : {"SAME_UPPER", "SAME_LOWER", "VALID"}) {
    check_op(conv("auto_pad", {1, 2, 5, 6}, {3, 2, 3, 2}, {{"auto_pad", std::string(pad)}, {"strides", Ints{2, 3}}}));
    check_op(conv("auto_pad dilated", {1, 2, 9, 8}, {3, 2, 3, 2},
                  {{"auto_pad", std::string(pad)}, {"dilations", Ints{2, 3}}}));
  }
}

TEST(Conv, PaddingIsSkippedNotMultiplied) {
  const double inf = std::numeric_limits<double>::infinity();
  check_op({"infinite weight on the border",
            "Conv",
            {data(f32({1, 1, 2}, {1, 2})), data(f32({1, 1, 2}, {1, inf}))},
            {{"pads", Ints{0, 1}}},
            {f32({1, 1, 2}, {inf, 2})}});
}

TEST(Conv, RefusesWhatDoesNotFit) {
  EXPECT_NE(refusal(conv("channels", {1, 3, 4, 4}, {2, 2, 1, 1}, {})).find("3 and 2 differ"), std::string::npos);
  EXPECT_NE(refusal(conv("window", {1, 1, 2, 2}, {1, 1, 3, 3}, {})).find("does not fit into 2"), std::string::npos);
  EXPECT_NE(refusal(conv("strides", {1, 1, 2, 2}, {1, 1, 1, 1}, {{"strides", Ints{2}}})).find("strides has 1 values"),
            std::string::npos);
  EXPECT_NE(refusal(conv("stride", {1, 1, 2, 2}, {1, 1, 1, 1}, {{"strides", Ints{2, 0}}})).find("contains 0"),
            std::string::npos);
  EXPECT_NE(refusal(conv("group", {1, 4, 2, 2}, {3, 2, 1, 1}, {{"group", int64_t{2}}})).find("cannot be divided"),
            std::string::npos);
}

TEST(CausalConv, SeesOnlyThePast) {
  const OpInput x = data(pattern(DType::f32, {2, 3, 5})), w = data(pattern(DType::f32, {3, 1, 4}, 2));
  check_op({"without a state", "CausalConvWithState", {x, w}, {}, {}, 2});
  for (const char* activation : {"none", "silu"})
    check_op({activation,
              "CausalConvWithState",
              {x, w, data(pattern(DType::f32, {3}, 3)), data(pattern(DType::f32, {2, 3, 3}, 4))},
              {{"activation", std::string(activation)}},
              {},
              2});
  check_op({"literal",
            "CausalConvWithState",
            {data(f32({1, 1, 3}, {1, 2, 3})), data(f32({1, 1, 2}, {10, 1}))},
            {},
            {f32({1, 1, 3}, {1, 12, 23}), f32({1, 1, 1}, {3})},
            2});
  check_op({"one element", "CausalConvWithState", {x, data(pattern(DType::f32, {3, 1, 1}))}, {}, {}, 2});
}

}  // namespace
}  // namespace gcg::test
