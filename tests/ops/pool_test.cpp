#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/ops/op_test.h"

// Literals that are not obvious come from onnxruntime 1.31 on the same pattern() tensors.
namespace gcg::test {
namespace {

using Ints = std::vector<int64_t>;
using Attributes = std::map<std::string, Attribute>;
constexpr double kInf = std::numeric_limits<double>::infinity();
const double kNan = std::nan("");
const char* const kForms[] = {"MaxPool", "AveragePool", "LpPool"};

OpCase pool(std::string what, const char* op, Ints x, Attributes attributes, std::vector<Tensor> expected = {}) {
  OpCase row = {
      std::move(what), op, {data(pattern(DType::f32, std::move(x)))}, std::move(attributes), std::move(expected)};
  if (row.op == "MaxPool") row.outputs = 2;
  return row;
}

TEST(Pool, GivesTheLiteral) {
  const Ints k2 = {2, 2}, k3 = {3, 3};
  check_op(pool("padded, last window over the end", "AveragePool", {1, 1, 5, 5},
                {{"kernel_shape", k3},
                 {"strides", Ints{3, 3}},
                 {"pads", Ints{1, 1, 1, 1}},
                 {"ceil_mode", int64_t{1}},
                 {"count_include_pad", int64_t{1}}},
                {f32({1, 1, 2, 2}, {-0.02777778, 0.2638889, -0.2222222, -0.4444444})}));
  check_op(pool("ceil_mode divides by what is there", "AveragePool", {1, 1, 4, 4},
                {{"kernel_shape", k3}, {"strides", k2}, {"ceil_mode", int64_t{1}}},
                {f32({1, 1, 2, 2}, {-0.2083333, -0.1041667, -0.6458333, 0.3125})}));
  check_op(pool("dilated", "AveragePool", {1, 1, 4, 4},
                {{"kernel_shape", k2}, {"dilations", k2}, {"ceil_mode", int64_t{1}}},
                {f32({1, 1, 2, 2}, {-1.0625, -0.28125, 0.78125, 0.28125})}));
  check_op(pool("SAME_LOWER", "AveragePool", {1, 1, 5, 5},
                {{"kernel_shape", k2}, {"strides", k2}, {"auto_pad", std::string("SAME_LOWER")}},
                {f32({1, 1, 3, 3}, {-1.125, -1.875, 2.25, 0.25, -0.5, -0.21875, 0.375, -0.375, -0.09375})}));
  const Tensor largest = f32({1, 1, 3, 3}, {1.5, 2.5, 2, 1.625, 0.625, 2.125, -0.875, -1.875, 2.25});
  check_op(pool("SAME_UPPER", "MaxPool", {1, 1, 5, 5},
                {{"kernel_shape", k2}, {"strides", k2}, {"auto_pad", std::string("SAME_UPPER")}},
                {largest, i64({1, 1, 3, 3}, {5, 3, 4, 15, 17, 14, 20, 22, 24})}));
  check_op(pool("column-major indices", "MaxPool", {1, 1, 5, 5},
                {{"kernel_shape", k2}, {"strides", k2}, {"ceil_mode", int64_t{1}}, {"storage_order", int64_t{1}}},
                {largest, i64({1, 1, 3, 3}, {1, 15, 20, 3, 13, 22, 4, 14, 24})}));
  check_op(pool("dilated, uneven pads", "MaxPool", {1, 1, 5, 5},
                {{"kernel_shape", k2}, {"dilations", k2}, {"pads", Ints{1, 0, 0, 1}}},
                {f32({1, 1, 4, 4},
                     {1.5, 1, 0.5, 0, -1, 2.5, 2.125, 2.5, 1.625, 1.125, 0.625, 0.125, -0.875, -1.375, 2.25, -2.375}),
                 i64({1, 1, 4, 4}, {5, 6, 7, 8, 10, 3, 14, 3, 15, 16, 17, 18, 20, 21, 24, 23})}));
}

TEST(Pool, TakesEveryRankAndAttribute) {
  for (const char* op : kForms) {
    check_op(pool("1-D", op, {2, 3, 7}, {{"kernel_shape", Ints{3}}, {"strides", Ints{2}}}));
    check_op(pool("3-D", op, {1, 2, 4, 3, 5}, {{"kernel_shape", Ints{2, 2, 3}}, {"pads", Ints{1, 0, 1, 0, 1, 1}}}));
    check_op(pool("1x1", op, {1, 1, 1, 1}, {{"kernel_shape", Ints{1, 1}}}));
    check_op(pool("batch 0", op, {0, 1, 3, 3}, {{"kernel_shape", Ints{2, 2}}}));
    for (int64_t ceil : {0, 1}) {
      for (int64_t dilation : {1, 2}) {
        check_op(pool("all together", op, {2, 3, 7, 8},
                      {{"kernel_shape", Ints{3, 2}},
                       {"strides", Ints{2, 3}},
                       {"pads", Ints{1, 0, 2, 1}},
                       {"dilations", Ints{dilation, 1}},
                       {"ceil_mode", ceil}}));
      }
    }
    for (const char* pad : {"SAME_UPPER", "SAME_LOWER", "VALID"}) {
      check_op(pool("auto_pad", op, {1, 2, 5, 6},
                    {{"kernel_shape", Ints{3, 2}}, {"strides", Ints{2, 2}}, {"auto_pad", std::string(pad)}}));
    }
  }
  for (int64_t ceil : {0, 1}) {
    check_op(pool("padding counts", "AveragePool", {1, 2, 6, 7},
                  {{"kernel_shape", Ints{3, 3}},
                   {"strides", Ints{2, 3}},
                   {"pads", Ints{1, 0, 1, 2}},
                   {"ceil_mode", ceil},
                   {"count_include_pad", int64_t{1}}}));
  }
  for (int64_t p : {1, 2, 3}) check_op(pool("p", "LpPool", {1, 1, 4, 4}, {{"kernel_shape", Ints{2, 2}}, {"p", p}}));
  for (const DType t : {DType::i8, DType::u8, DType::f64}) {
    OpCase row = pool("dtypes", "MaxPool", {1}, {{"kernel_shape", Ints{2, 2}}, {"pads", Ints{1, 1, 0, 0}}});
    row.inputs = {data(pattern(t, {1, 2, 3, 3}))};
    check_op(row);
  }
}

/// ONNX rounds the number of steps towards zero; onnxruntime gives these values for empty windows.
TEST(Pool, WindowsBeyondTheInput) {
  const float lowest = std::numeric_limits<float>::lowest();
  const Tensor x = f32({1, 1, 4}, {1, 4, 2, 3});
  const Attributes larger = {{"kernel_shape", Ints{5}}, {"strides", Ints{2}}};
  check_op({"larger than the input", "MaxPool", {data(x)}, larger, {f32({1, 1, 1}, {4})}});
  check_op({"larger than the input", "AveragePool", {data(x)}, larger, {f32({1, 1, 1}, {2.5})}});
  const Attributes around = {{"kernel_shape", Ints{2}}, {"dilations", Ints{3}}, {"pads", Ints{1, 1}}};
  const Tensor two = f32({1, 1, 2}, {1, -kInf});
  check_op({"taps on both sides of the input", "MaxPool", {data(two)}, around, {f32({1, 1, 1}, {lowest})}});
  for (const int64_t order : {0, 1}) {
    Attributes indexed = around;
    indexed["storage_order"] = order;
    check_op({"no element has an index",
              "MaxPool",
              {data(two)},
              indexed,
              {f32({1, 1, 1}, {lowest}), i64({1, 1, 1}, {-1})},
              2});
  }
  check_op({"taps on both sides of the input", "AveragePool", {data(two)}, around, {f32({1, 1, 1}, {0})}});
  check_op({"some in the padding",
            "MaxPool",
            {data(two)},
            {{"kernel_shape", Ints{1}}, {"pads", Ints{1, 0}}},
            {f32({1, 1, 3}, {lowest, 1, -kInf})}});
}

TEST(Pool, PassesInfinityAndNan) {
  const Tensor x = f32({1, 1, 6}, {-kInf, -kInf, kNan, 1, kInf, 2});
  for (const char* op : kForms) {
    OpCase row = {"inf and nan", op, {data(x)}, {{"kernel_shape", Ints{2}}}};
    check_op(row);
  }
  check_op({"nan wins",
            "MaxPool",
            {data(x)},
            {{"kernel_shape", Ints{2}}},
            {f32({1, 1, 5}, {-kInf, kNan, kNan, kInf, kInf}), i64({1, 1, 5}, {0, 2, 2, 4, 4})},
            2});
}

TEST(Pool, GlobalFormsCoverThePlane) {
  check_op({"literal", "GlobalAveragePool", {data(f32({1, 2, 2, 1}, {1, 3, 5, 9}))}, {}, {f32({1, 2, 1, 1}, {2, 7})}});
  check_op(
      {"literal", "GlobalMaxPool", {data(f32({1, 2, 2, 1}, {1, 3, 5, kNan}))}, {}, {f32({1, 2, 1, 1}, {3, kNan})}});
  check_op({"literal", "GlobalLpPool", {data(f32({1, 2, 2, 1}, {3, -4, 0, 0}))}, {}, {f32({1, 2, 1, 1}, {5, 0})}});
  for (const char* op : {"GlobalAveragePool", "GlobalMaxPool", "GlobalLpPool"}) {
    for (const Ints& shape : {Ints{2, 3, 5}, Ints{2, 3, 4, 5}, Ints{1, 2, 3, 2, 3}, Ints{1, 1, 1, 1}, Ints{0, 2, 3}}) {
      check_op({"ranks", op, {data(pattern(DType::f32, shape))}});
    }
  }
}

TEST(Pool, BlockedFormsPoolEveryLane) {
  for (const char* form : {"MaxPool", "AveragePool"}) {
    const Attributes attributes = {
        {"kernel_shape", Ints{3, 2}}, {"strides", Ints{2, 1}}, {"pads", Ints{1, 0, 1, 1}}, {"ceil_mode", int64_t{1}}};
    OpCase blocked = {
        "blocked", std::string("Blocked") + form, {data(pattern(DType::f32, {2, 2, 6, 5, 16}))}, attributes};
    blocked.domain = "gart";
    check_op(blocked);
  }
}

TEST(Pool, RefusesWhatDoesNotFit) {
  EXPECT_NE(
      refusal(pool("kernel", "MaxPool", {1, 1, 3, 3}, {{"kernel_shape", Ints{2}}})).find("kernel has 1 dimensions"),
      std::string::npos);
  EXPECT_NE(refusal(pool("window", "MaxPool", {1, 1, 5, 2}, {{"kernel_shape", Ints{3, 5}}, {"strides", Ints{1, 1}}}))
                .find("spatial axis 1: a window of 5 does not fit into 2"),
            std::string::npos);
  EXPECT_NE(refusal(pool("rank", "MaxPool", {1, 3}, {{"kernel_shape", Ints{}}})).find("rank 2"), std::string::npos);
}

}  // namespace
}  // namespace gcg::test
