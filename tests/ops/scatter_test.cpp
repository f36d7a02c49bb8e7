#include <gtest/gtest.h>

#include <cmath>

#include "tests/ops/op_test.h"

namespace gcg::test {
namespace {

Tensor x(std::vector<int64_t> shape) { return pattern(DType::f32, std::move(shape)); }
using Attributes = std::map<std::string, Attribute>;

TEST(Scatter, Elements) {
  for (const char* reduction : {"none", "add", "mul", "max", "min"}) {
    const Attributes axis0{{"reduction", reduction}}, axis1{{"reduction", reduction}, {"axis", int64_t{-1}}};
    check_op({concat(reduction, ", axis 0"),
              "ScatterElements",
              {data(x({3, 3})), data(i64({2, 3}, {1, 0, 2, 0, 2, -2})), data(pattern(DType::f32, {2, 3}, 5))},
              axis0});
    check_op({concat(reduction, ", hit twice"),
              "ScatterElements",
              {data(x({1, 5})), data(i64({1, 3}, {1, 3, -4})), data(f32({1, 3}, {1.5, 2, -3}))},
              axis1});
    check_op({concat(reduction, ", indices cover a corner"),
              "ScatterElements",
              {data(x({4, 5})), data(i64({2, 3}, {0, 4, 2, 1, 1, -1})), data(x({2, 3}))},
              axis1});
    check_op({concat(reduction, ", nothing"),
              "ScatterElements",
              {data(x({4, 5})), data(i64({0, 3}, {})), data(x({0, 3}))},
              axis0});
    for (DType t : {DType::f64, DType::f16, DType::i32, DType::i64, DType::u8, DType::boolean})
      check_op({concat(reduction, " of ", name_of(t)),
                "ScatterElements",
                {data(pattern(t, {6})), data(i64({3}, {1, 4, 1})), data(pattern(t, {3}, 2))},
                axis0});
  }
  check_op({"literal",
            "ScatterElements",
            {data(f32({1, 5}, {1, 2, 3, 4, 5})), data(i64({1, 2}, {1, 3})), data(f32({1, 2}, {1.1, 2.1}))},
            {{"axis", int64_t{1}}},
            {f32({1, 5}, {1, 1.1, 3, 2.1, 5})}});
  check_op({"the old name", "Scatter", {data(x({3})), data(i64({1}, {2})), data(f32({1}, {9}))}});
  EXPECT_NE(
      refusal({"outside", "ScatterElements", {data(x({3})), data(i64({1}, {3})), data(f32({1}, {9}))}}).find("index 3"),
      std::string::npos);
  EXPECT_NE(refusal({"reduction",
                     "ScatterElements",
                     {data(x({3})), data(i64({1}, {0})), data(f32({1}, {9}))},
                     {{"reduction", "avg"}}})
                .find("'avg'"),
            std::string::npos);
}

TEST(Scatter, ND) {
  for (const char* reduction : {"none", "add", "mul", "max", "min"}) {
    const Attributes attributes{{"reduction", reduction}};
    check_op({concat(reduction, ", elements"),
              "ScatterND",
              {data(x({8})), known(i64({4, 1}, {4, 3, 1, -1})), data(f32({4}, {9, 10, 11, 12}))},
              attributes});
    check_op({concat(reduction, ", rows"),
              "ScatterND",
              {data(x({4, 3, 2})), data(i64({2, 1}, {0, -2})), data(pattern(DType::f32, {2, 3, 2}, 7))},
              attributes});
    check_op({concat(reduction, ", tuples, one hit twice"),
              "ScatterND",
              {data(x({3, 4})), known(i64({3, 2}, {0, 1, 2, -1, 0, 1})), data(f32({3}, {1, 2, 3}))},
              attributes});
    check_op({concat(reduction, ", a matrix of tuples"),
              "ScatterND",
              {data(pattern(DType::i64, {5})), data(i64({2, 2, 1}, {0, 1, 2, 4})), data(i64({2, 2}, {1, 2, 3, 4}))},
              attributes});
    check_op(
        {concat(reduction, ", nothing"), "ScatterND", {data(x({4})), data(i64({0, 1}, {})), data(x({0}))}, attributes});
  }
  check_op({"one update",
            "ScatterND",
            {data(f32({3}, {1, 2, 3})), data(i64({1, 1}, {1})), data(f32({1}, {9}))},
            {},
            {f32({3}, {1, 9, 3})}});
}

TEST(DataDependent, Compress) {
  check_op({"rows", "Compress", {data(x({3, 2})), data(bools({3}, {0, 1, 1}))}, {{"axis", int64_t{0}}}});
  check_op({"a short condition", "Compress", {data(x({2, 3})), data(bools({2}, {0, 1}))}, {{"axis", int64_t{-1}}}});
  check_op({"elements",
            "Compress",
            {data(f32({2, 2}, {1, 2, 3, 4})), data(bools({4}, {0, 1, 0, 1}))},
            {},
            {f32({2}, {2, 4})}});
  check_op({"known condition", "Compress", {data(x({3})), known(bools({3}, {1, 0, 1}))}});
  check_op({"nothing", "Compress", {data(x({3})), data(bools({3}, {0}))}, {}, {f32({0}, {})}});
}

TEST(DataDependent, NonZero) {
  check_op({"matrix", "NonZero", {data(f32({2, 2}, {1, 0, 0.5, NAN}))}, {}, {i64({2, 3}, {0, 1, 1, 0, 0, 1})}});
  check_op({"bool", "NonZero", {data(bools({3}, {0, 1, 1}))}, {}, {i64({1, 2}, {1, 2})}});
  check_op({"scalar", "NonZero", {data(i64({}, {5}))}, {}, {i64({0, 1}, {})}});
  check_op({"none", "NonZero", {data(i64({2, 2}, {0}))}, {}, {i64({2, 0}, {})}});
}

TEST(DataDependent, Unique) {
  const Tensor v = f32({6}, {2, 1, 1, 3, 4, 3});
  check_op({"sorted",
            "Unique",
            {data(v)},
            {},
            {f32({4}, {1, 2, 3, 4}), i64({4}, {1, 0, 3, 4}), i64({6}, {1, 0, 0, 2, 3, 2}), i64({4}, {2, 1, 2, 1})},
            4});
  check_op({"unsorted",
            "Unique",
            {data(v)},
            {{"sorted", int64_t{0}}},
            {f32({4}, {2, 1, 3, 4}), i64({4}, {0, 1, 3, 4}), i64({6}, {0, 1, 1, 2, 3, 2}), i64({4}, {1, 2, 2, 1})},
            4});
  check_op({"rows",
            "Unique",
            {data(i64({3, 2}, {1, 0, 1, 0, 0, 5}))},
            {{"axis", int64_t{0}}},
            {i64({2, 2}, {0, 5, 1, 0}), i64({2}, {2, 0}), i64({3}, {1, 1, 0}), i64({2}, {1, 2})},
            4});
  check_op({"columns",
            "Unique",
            {data(i64({2, 3}, {2, 1, 2, 0, 7, 0}))},
            {{"axis", int64_t{-1}}},
            {i64({2, 2}, {1, 2, 7, 0})}});
  check_op({"nothing", "Unique", {data(f32({0}, {}))}, {}, {f32({0}, {})}});
}

}  // namespace
}  // namespace gcg::test
