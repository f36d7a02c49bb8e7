#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/ops/op_test.h"

namespace gcg::test {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
const double kNan = std::nan("");

TEST(ArgReduce, GivesTheLiteral) {
  const Tensor x = f32({2, 4}, {1, 5, 5, 0, 3, -2, 3, -2});
  const Attribute last = int64_t{1}, axis = int64_t{1};
  check_op({"first of equals", "ArgMax", {data(x)}, {{"axis", axis}}, {i64({2, 1}, {1, 0})}});
  check_op(
      {"last of equals", "ArgMax", {data(x)}, {{"axis", axis}, {"select_last_index", last}}, {i64({2, 1}, {2, 2})}});
  check_op({"first of equals", "ArgMin", {data(x)}, {{"axis", axis}}, {i64({2, 1}, {3, 1})}});
  check_op(
      {"last of equals", "ArgMin", {data(x)}, {{"axis", axis}, {"select_last_index", last}}, {i64({2, 1}, {3, 3})}});
  check_op({"default axis 0", "ArgMax", {data(x)}, {{"keepdims", int64_t{0}}}, {i64({4}, {1, 0, 0, 0})}});
}

TEST(ArgReduce, TakesEveryAxisAndType) {
  for (const char* op : {"ArgMax", "ArgMin"}) {
    for (int64_t axis : {-3, -1, 0, 1, 2}) {
      for (int64_t last : {0, 1}) {
        check_op({"axis",
                  op,
                  {data(pattern(DType::f32, {2, 3, 5}))},
                  {{"axis", axis}, {"select_last_index", last}, {"keepdims", last}}});
      }
    }
    for (const DType t : {DType::f64, DType::i32, DType::i64, DType::u8, DType::i8}) {
      check_op({"dtype", op, {data(pattern(t, {50}))}});
    }
    check_op({"extent 1", op, {data(f32({1, 1}, {kNan}))}});
    check_op({"no rows", op, {data(Tensor(DType::f32, {0, 3}))}, {{"axis", int64_t{1}}}});
    for (int64_t last : {0, 1}) {
      check_op({"nan and inf",
                op,
                {data(f32({3, 3}, {1, kNan, kNan, kInf, -kInf, kInf, -kInf, -kInf, -kInf}))},
                {{"axis", int64_t{1}}, {"select_last_index", last}}});
    }
    EXPECT_NE(refusal({"empty", op, {data(Tensor(DType::f32, {2, 0}))}, {{"axis", int64_t{1}}}}).find("is empty"),
              std::string::npos);
  }
}

TEST(CumSum, GivesTheLiteral) {
  const Tensor x = f32({2, 3}, {1, 2, 3, 4, 5, 6});
  const OpInput axis = known(Tensor::scalar_i64(1));
  const Attribute yes = int64_t{1};
  check_op({"forwards", "CumSum", {data(x), axis}, {}, {f32({2, 3}, {1, 3, 6, 4, 9, 15})}});
  check_op({"exclusive", "CumSum", {data(x), axis}, {{"exclusive", yes}}, {f32({2, 3}, {0, 1, 3, 0, 4, 9})}});
  check_op({"reverse", "CumSum", {data(x), axis}, {{"reverse", yes}}, {f32({2, 3}, {6, 5, 3, 15, 11, 6})}});
  check_op(
      {"both", "CumSum", {data(x), axis}, {{"exclusive", yes}, {"reverse", yes}}, {f32({2, 3}, {5, 3, 0, 11, 6, 0})}});
  check_op({"negative axis in a vector", "CumSum", {data(x), known_ints({-2})}, {}, {f32({2, 3}, {1, 2, 3, 5, 7, 9})}});
}

TEST(CumProd, MultipliesFromEitherEnd) {
  const OpInput x = data(f32({4}, {1, 2, 3, 4})), axis = known_ints({0});
  const auto attributes = [](int64_t exclusive, int64_t reverse) {
    return std::map<std::string, Attribute>{{"exclusive", exclusive}, {"reverse", reverse}};
  };
  check_op({"inclusive", "CumProd", {x, axis}, attributes(0, 0), {f32({4}, {1, 2, 6, 24})}});
  check_op({"exclusive", "CumProd", {x, axis}, attributes(1, 0), {f32({4}, {1, 1, 2, 6})}});
  check_op({"reverse", "CumProd", {x, axis}, attributes(0, 1), {f32({4}, {24, 24, 12, 4})}});
  check_op({"both", "CumProd", {x, axis}, attributes(1, 1), {f32({4}, {24, 12, 4, 1})}});
  check_op({"integers", "CumProd", {data(pattern(DType::i32, {3, 4})), data(Tensor::scalar_i64(-2))}});
}

TEST(CumSum, TakesEveryTypeAndExtent) {
  for (const DType t : {DType::f64, DType::i32, DType::i64, DType::u32, DType::u64}) {
    check_op({"dtype", "CumSum", {data(pattern(t, {3, 9})), known_ints({1})}});
  }
  check_op({"infinity does not reach back",
            "CumSum",
            {data(f32({3}, {1, kInf, -kInf})), known_ints({0})},
            {},
            {f32({3}, {1, kInf, kNan})}});
  check_op({"empty", "CumSum", {data(Tensor(DType::f32, {2, 0})), known_ints({1})}});
  for (int64_t axis : {0, 1, -1})
    check_op({"axis at run time", "CumSum", {data(pattern(DType::f32, {3, 4})), data(Tensor::scalar_i64(axis))}});
  EXPECT_NE(refusal({"axis", "CumSum", {data(f32({2}, {1})), known(Tensor::scalar_i64(1))}}).find("out of range"),
            std::string::npos);
}

}  // namespace
}  // namespace gcg::test
