#include <gtest/gtest.h>

#include "tests/ops/op_test.h"

namespace gcg::test {
namespace {

using Ints = std::vector<int64_t>;

OpCase weave(std::string what, std::vector<Tensor> parts, Ints axes, Ints steps, Tensor expected) {
  OpCase row;
  row.what = std::move(what);
  row.op = "Interleave";
  row.domain = "gart";
  for (Tensor& part : parts) row.inputs.push_back(data(std::move(part)));
  row.attributes = {{"axes", std::move(axes)}, {"steps", std::move(steps)}};
  row.expected = {std::move(expected)};
  row.symbolic = false;  // the parts' extents depend on each other, so they cannot be independent symbols
  return row;
}

TEST(Interleave, WeavesItsParts) {
  check_op(weave("along one axis", {f32({1, 2}, {1, 2}), f32({1, 2}, {3, 4})}, {1}, {2}, f32({1, 4}, {1, 3, 2, 4})));
  check_op(weave("a part is shorter", {f32({2}, {1, 2}), f32({2}, {3, 4}), f32({1}, {5})}, {0}, {3},
                 f32({5}, {1, 3, 5, 2, 4})));
  check_op(weave("along two axes",
                 {f32({2, 2}, {1, 2, 3, 4}), f32({2, 1}, {5, 6}), f32({1, 2}, {7, 8}), f32({1, 1}, {9})}, {0, 1},
                 {2, 2}, f32({3, 3}, {1, 5, 2, 7, 9, 8, 3, 6, 4})));
}

TEST(Interleave, RefusesPartsThatDoNotFit) {
  EXPECT_NE(refusal(weave("", {f32({2}, {1, 2})}, {0}, {2}, f32({2}, {1, 2}))), "");
  EXPECT_NE(refusal(weave("", {f32({1}, {1}), f32({3}, {1, 2, 3})}, {0}, {2}, f32({4}, {1, 1, 2, 3}))), "");
}

}  // namespace
}  // namespace gcg::test
