#include <gtest/gtest.h>

#include "tests/ops/op_test.h"

namespace gcg::test {
namespace {

using Ints = std::vector<int64_t>;

OpCase columns(std::string what, Tensor x, Ints kernel, Ints strides, Ints dilations, Ints pads, Tensor expected) {
  OpCase row;
  row.what = std::move(what);
  row.op = "Columns";
  row.domain = "gart";
  row.inputs = {data(std::move(x))};
  row.attributes = {{"kernel_shape", std::move(kernel)},
                    {"strides", std::move(strides)},
                    {"dilations", std::move(dilations)},
                    {"pads", std::move(pads)}};
  row.expected = {std::move(expected)};
  return row;
}

TEST(Columns, HoldTheElementsOfEachTap) {
  check_op(columns("one channel", f32({1, 1, 5}, {1, 2, 3, 4, 5}), {3}, {1}, {1}, {0, 0},
                   f32({1, 3, 1, 3}, {1, 2, 3, 2, 3, 4, 3, 4, 5})));
  check_op(columns("padded", f32({1, 1, 3}, {1, 2, 3}), {3}, {1}, {1}, {1, 1},
                   f32({1, 3, 1, 3}, {0, 1, 2, 1, 2, 3, 2, 3, 0})));
  check_op(columns("two images of two channels, with stride",
                   f32({2, 2, 4}, {1, 2, 3, 4, 5, 6, 7, 8, 11, 12, 13, 14, 15, 16, 17, 18}), {2}, {2}, {1}, {0, 0},
                   f32({2, 2, 2, 2}, {1, 3, 11, 13, 2, 4, 12, 14, 5, 7, 15, 17, 6, 8, 16, 18})));
  check_op(columns("planes, dilated", f32({1, 1, 3, 4}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}), {2, 2}, {1, 1},
                   {2, 1}, {0, 0, 0, 1},
                   f32({1, 2, 2, 1, 1, 4}, {1, 2, 3, 4, 2, 3, 4, 0, 9, 10, 11, 12, 10, 11, 12, 0})));
}

TEST(Columns, RefuseAWindowOfAnotherRank) {
  EXPECT_NE(refusal(columns("", f32({1, 1, 4}, {1, 2, 3, 4}), {2, 2}, {1, 1}, {1, 1}, {0, 0, 0, 0}, f32({1}, {0}))),
            "");
}

}  // namespace
}  // namespace gcg::test
