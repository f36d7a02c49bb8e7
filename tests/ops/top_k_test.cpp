#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/ops/op_test.h"

namespace gcg::test {
namespace {

using Ints = std::vector<int64_t>;
using Attributes = std::map<std::string, Attribute>;
constexpr double kInf = std::numeric_limits<double>::infinity();
const double kNan = std::nan("");

OpCase top_k(std::string what, Tensor x, int64_t k, Attributes attributes, std::vector<Tensor> expected = {}) {
  return {std::move(what),     "TopK", {data(std::move(x)), known_ints({k})}, std::move(attributes),
          std::move(expected), 2};
}

TEST(TopK, GivesTheLiteral) {
  const Tensor x = f32({2, 4}, {1, 3, 3, 2, -1, -2, -3, -4});
  check_op(
      top_k("the first of equals comes first", x, 2, {}, {f32({2, 2}, {3, 3, -1, -2}), i64({2, 2}, {1, 2, 0, 1})}));
  check_op(top_k("smallest", x, 3, {{"largest", int64_t{0}}},
                 {f32({2, 3}, {1, 2, 3, -4, -3, -2}), i64({2, 3}, {0, 3, 1, 3, 2, 1})}));
  check_op(top_k("axis 0", x, 1, {{"axis", int64_t{0}}}, {f32({1, 4}, {1, 3, 3, 2}), i64({1, 4}, {0, 0, 0, 0})}));
  check_op(top_k("none", x, 0, {}, {f32({2, 0}, {}), i64({2, 0}, {})}));
}

TEST(TopK, OrdersInfinityAndNan) {
  const Tensor x = f32({6}, {-kInf, kNan, kInf, 0, kNan, -0.0});
  check_op(top_k("largest", x, 6, {}, {f32({6}, {kNan, kNan, kInf, 0, 0, -kInf}), i64({6}, {1, 4, 2, 3, 5, 0})}));
  check_op(top_k("smallest", x, 6, {{"largest", int64_t{0}}},
                 {f32({6}, {-kInf, 0, 0, kInf, kNan, kNan}), i64({6}, {0, 3, 5, 2, 1, 4})}));
}

TEST(TopK, RanksAndPlacesLowerToTheReference) {
  for (int64_t largest : {0, 1}) {
    for (int64_t axis : {0, 1, 2}) {
      for (const DType t : {DType::f32, DType::f16, DType::i64, DType::u8, DType::i32}) {
        OpCase row = {"ranks", "Ranks", {data(pattern(t, {3, 50, 4}))}, {{"axis", axis}, {"largest", largest}}};
        row.domain = "gart";
        const Tensor ranks = check_op(row)[0];
        row = {"places", "PlacesOfRanks", {data(ranks), known_ints({2})}, {{"axis", axis}}};
        row.domain = "gart";
        check_op(row);
      }
    }
  }
  OpCase row = {"not finite", "Ranks", {data(f32({7}, {kNan, -kInf, kNan, kInf, 0, 0, kInf}))}};
  row.domain = "gart";
  row.expected = {tensor(DType::i32, {7}, {0, 6, 1, 2, 4, 5, 3})};
  check_op(row);
}

TEST(TopK, RefusesWhatDoesNotFit) {
  const Tensor x = f32({2, 2}, {1, 2, 3, 4});
  EXPECT_NE(refusal(top_k("", x, 3, {})).find("there are only 2 elements along axis 1"), std::string::npos);
  EXPECT_NE(refusal(top_k("", x, -1, {})).find("k is -1"), std::string::npos);
  EXPECT_NE(refusal(top_k("", f32({}, {1}), 1, {})).find("a scalar"), std::string::npos);
}

}  // namespace
}  // namespace gcg::test
