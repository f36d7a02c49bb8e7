#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/ops/op_test.h"

namespace gcg::test {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
const double kNan = std::nan("");
const char* const kForms[] = {"ReduceSum", "ReduceMean", "ReduceMax",    "ReduceMin",       "ReduceProd",
                              "ReduceL1",  "ReduceL2",   "ReduceLogSum", "ReduceLogSumExp", "ReduceSumSquare"};

TEST(Reduce, GivesTheLiteralOfEachForm) {
  const Tensor x = f32({2, 3}, {1, 2, 3, -4, 5, 6});
  const std::pair<const char*, std::vector<double>> rows[] = {
      {"ReduceSum", {6, 7}},
      {"ReduceMean", {2, 7.0 / 3}},
      {"ReduceMax", {3, 6}},
      {"ReduceMin", {1, -4}},
      {"ReduceProd", {6, -120}},
      {"ReduceL1", {6, 15}},
      {"ReduceL2", {std::sqrt(14.0), std::sqrt(77.0)}},
      {"ReduceLogSum", {std::log(6.0), std::log(7.0)}},
      {"ReduceLogSumExp", {3.4076059644, 6.3132944}},
      {"ReduceSumSquare", {14, 77}},
  };
  for (const auto& [op, want] : rows) {
    check_op({"last axis kept", op, {data(x), known_ints({1})}, {}, {f32({2, 1}, want)}});
    check_op({"negative axis dropped", op, {data(x), known_ints({-1})}, {{"keepdims", int64_t{0}}}, {f32({2}, want)}});
  }
}

TEST(Reduce, TakesEveryFormOfAxes) {
  const Tensor x = pattern(DType::f32, {2, 3, 5});
  Tensor positive = x;
  for (const char* op : kForms) {
    check_op({"no axes: all", op, {data(x)}});
    check_op({"no axes, dims dropped", op, {data(x)}, {{"keepdims", int64_t{0}}}});
    check_op({"empty axes: all", op, {data(x), known_ints({})}});
    check_op({"empty axes, no-op", op, {data(x), known_ints({})}, {{"noop_with_empty_axes", int64_t{1}}}});
    check_op({"absent axes, no-op", op, {data(x)}, {{"noop_with_empty_axes", int64_t{1}}}});
    check_op({"outer and inner", op, {data(x), known_ints({0, -1})}});
    check_op({"middle", op, {data(x), known_ints({1})}, {{"keepdims", int64_t{0}}}});
    check_op({"scalar", op, {data(f32({}, {2}))}});
    check_op({"extent 1", op, {data(f32({1, 1}, {3})), known_ints({0})}});
    check_op({"f64", op, {data(pattern(DType::f64, {7})), known_ints({0})}, {}, {}, 1, true, 1e-12});
  }
}

TEST(Reduce, OfNothingIsTheIdentity) {
  const Tensor none(DType::f32, {2, 0});
  const std::pair<const char*, double> rows[] = {
      {"ReduceSum", 0}, {"ReduceMean", 0}, {"ReduceMax", -kInf},    {"ReduceMin", kInf},        {"ReduceProd", 1},
      {"ReduceL1", 0},  {"ReduceL2", 0},   {"ReduceLogSum", -kInf}, {"ReduceLogSumExp", -kInf}, {"ReduceSumSquare", 0}};
  for (const auto& [op, want] : rows)
    check_op({"extent 0", op, {data(none), known_ints({1})}, {}, {f32({2, 1}, {want})}});
  check_op(
      {"i32 maximum", "ReduceMax", {data(Tensor(DType::i32, {0}))}, {}, {tensor(DType::i32, {1}, {-2147483648.0})}});
  check_op({"i8 minimum", "ReduceMin", {data(Tensor(DType::i8, {0}))}, {}, {tensor(DType::i8, {1}, {127})}});
  check_op({"u8 maximum", "ReduceMax", {data(Tensor(DType::u8, {0}))}, {}, {tensor(DType::u8, {1}, {0})}});
  check_op({"bool minimum", "ReduceMin", {data(Tensor(DType::boolean, {0}))}, {}, {bools({1}, {1})}});
  check_op({"nothing left",
            "ReduceSum",
            {data(Tensor(DType::f32, {0, 3})), known_ints({1})},
            {},
            {Tensor(DType::f32, {0, 1})}});
}

TEST(Reduce, PassesInfinityAndNan) {
  const Tensor x = f32({4, 2}, {1, kInf, -kInf, 2, kNan, 3, -kInf, -kInf});
  for (const char* op : kForms) check_op({"inf and nan", op, {data(x), known_ints({1})}});
  check_op({"log-sum-exp", "ReduceLogSumExp", {data(x), known_ints({1})}, {}, {f32({4, 1}, {kInf, 2, kNan, -kInf})}});
  check_op({"large values do not overflow",
            "ReduceLogSumExp",
            {data(f32({2}, {1000, 1000}))},
            {},
            {f32({1}, {1000 + std::log(2.0)})}});
}

TEST(Reduce, TakesIntegersAndBooleans) {
  for (const DType t : {DType::i32, DType::i64, DType::u32, DType::u64}) {
    for (const char* op : {"ReduceSum", "ReduceProd", "ReduceMax", "ReduceMin", "ReduceMean", "ReduceL1", "ReduceL2",
                           "ReduceSumSquare"}) {
      check_op({"integers", op, {data(pattern(t, {3, 4})), known_ints({1})}});
    }
  }
  for (const DType t : {DType::i8, DType::u8, DType::boolean}) {
    check_op({"small types", "ReduceMax", {data(pattern(t, {3, 4})), known_ints({0})}});
    check_op({"small types", "ReduceMin", {data(pattern(t, {3, 4})), known_ints({0})}});
  }
}

TEST(Reduce, KnowsTheContentsOfShapes) {
  for (const char* op : {"ReduceProd", "ReduceSum", "ReduceMax", "ReduceMin"}) {
    check_op({"vector", op, {known_ints({3, 5, 2})}});
    check_op({"vector to scalar", op, {known_ints({3, 5, 2})}, {{"keepdims", int64_t{0}}}});
  }
}

TEST(Reduce, AxesAtRunTime) {
  const OpInput x = data(pattern(DType::f32, {2, 3, 4}));
  for (const char* op : {"ReduceSum", "ReduceMax", "ReduceMean", "ReduceLogSumExp", "ReduceProd"})
    for (const int64_t keep : {0, 1}) {
      check_op({"one axis", op, {x, data(i64({1}, {1}))}, {{"keepdims", keep}}, {}, 1, true, 1e-5});
      check_op({"two axes", op, {x, data(i64({2}, {-1, 0}))}, {{"keepdims", keep}}, {}, 1, false, 1e-5});
      check_op({"all axes", op, {x, data(i64({3}, {2, 0, 1}))}, {{"keepdims", keep}}, {}, 1, false, 1e-5});
    }
  check_op({"of nothing", "ReduceSum", {data(Tensor(DType::f32, {2, 0})), data(i64({1}, {1}))}});
  check_op({"no axis means all", "ReduceSum", {x, data(i64({0}, {}))}, {}, {}, 1, false});
}

TEST(Reduce, RefusesWrongAxes) {
  const OpInput x = data(pattern(DType::f32, {2, 3}));
  EXPECT_NE(refusal({"out of range", "ReduceSum", {x, known_ints({2})}}).find("axis 2 out of range [-2, 2)"),
            std::string::npos);
  EXPECT_NE(refusal({"too many", "ReduceSum", {x, data(i64({3}, {0, 1, 1}))}}).find("3 axes for 2 dimensions"),
            std::string::npos);
  EXPECT_NE(refusal({"bool", "ReduceSum", {data(bools({2}, {1}))}}).find("bool"), std::string::npos);
}

}  // namespace
}  // namespace gcg::test
