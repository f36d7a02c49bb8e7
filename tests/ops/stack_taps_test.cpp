#include <gtest/gtest.h>

#include "tests/ops/op_test.h"

namespace gcg::test {
namespace {

using Ints = std::vector<int64_t>;

OpCase stacked(std::string what, Tensor x, int64_t kernel, int64_t channels, Ints window, Tensor expected) {
  OpCase row;
  row.what = std::move(what);
  row.op = "StackTaps";
  row.domain = "gart";
  row.inputs = {data(std::move(x))};
  row.attributes = {{"kernel", kernel},
                    {"channels", channels},
                    {"strides", Ints{window[0]}},
                    {"dilations", Ints{window[1]}},
                    {"pads", Ints{window[2], window[3]}}};
  row.expected = {std::move(expected)};
  row.symbolic = false;  // an attribute holds the number of channels, which cannot be symbolic
  return row;
}

TEST(StackTaps, MakesTapsChannels) {
  check_op(stacked("padded", f32({1, 1, 4}, {1, 2, 3, 4}), 3, 3, {1, 1, 1, 1},
                   f32({1, 3, 4}, {0, 1, 2, 3, 1, 2, 3, 4, 2, 3, 4, 0})));
  check_op(stacked("two channels, two more of zeros, with stride", f32({1, 2, 5}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10}), 2,
                   6, {3, 1, 0, 0}, f32({1, 6, 2}, {1, 4, 6, 9, 2, 5, 7, 10, 0, 0, 0, 0})));
  check_op(stacked("dilated, in rows", f32({2, 1, 2, 3}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}), 2, 2, {1, 2, 0, 1},
                   f32({2, 2, 2, 2}, {1, 2, 4, 5, 3, 0, 6, 0, 7, 8, 10, 11, 9, 0, 12, 0})));
}

TEST(StackTaps, RefusesTooFewChannels) {
  EXPECT_NE(refusal(stacked("", f32({1, 2, 4}, {1, 2, 3, 4, 5, 6, 7, 8}), 3, 5, {1, 1, 0, 0},
                            f32({1, 5, 2}, std::vector<double>(10)))),
            "");
}

}  // namespace
}  // namespace gcg::test
