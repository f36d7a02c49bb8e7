#include <gtest/gtest.h>

#include <cmath>

#include "tests/ops/op_test.h"

namespace gcg::test {
namespace {

constexpr DType kAll[] = {DType::f32, DType::f64, DType::f16, DType::i8,
                          DType::i32, DType::i64, DType::u8,  DType::boolean};

Tensor x(std::vector<int64_t> shape) { return pattern(DType::f32, std::move(shape)); }
std::map<std::string, Attribute> attribute(const char* name, int64_t value) { return {{name, value}}; }

TEST(Gather, Gather) {
  const Tensor indices = i64({2, 2}, {0, 2, -1, -3});
  for (int64_t axis : {0, 1, -1})
    check_op({concat("axis ", axis), "Gather", {data(x({3, 4, 3})), data(indices)}, attribute("axis", axis)});
  for (int64_t axis : {0, 1, 2, 3})
    check_op({concat("five dimensions, axis ", axis),
              "Gather",
              {data(x({3, 4, 3, 5, 2})), data(i64({3}, {1, -2, 0}))},
              attribute("axis", axis)});
  check_op({"known indices", "Gather", {data(x({3, 4})), known(indices)}, {}});
  check_op({"literal", "Gather", {data(f32({3}, {1, 2, 3})), data(i64({2}, {-1, 0}))}, {}, {f32({2}, {3, 1})}});
  check_op({"a known scalar drops the axis", "Gather", {data(x({3, 4})), known(i64({}, {-1}))}, attribute("axis", 1)});
  check_op({"i32 indices", "Gather", {data(x({3, 4})), data(tensor(DType::i32, {2}, {-1, 1}))}});
  check_op({"no indices", "Gather", {data(x({3, 4})), data(i64({0}, {}))}});
  check_op({"contents", "Gather", {known_ints({7, 8, 9}), known(i64({}, {-1}))}, {}, {i64({}, {9})}});
  check_op({"contents by a list", "Gather", {known_ints({7, 8, 9}), known_ints({2, 0})}, {}, {i64({2}, {9, 7})}});
  for (DType t : kAll)
    check_op({std::string(name_of(t)), "Gather", {data(pattern(t, {3, 2})), data(i64({2}, {2, 0}))}});
  EXPECT_NE(refusal({"outside", "Gather", {data(x({3})), data(i64({1}, {3}))}}).find("index 3 out of range [-3, 3)"),
            std::string::npos);
  EXPECT_NE(refusal({"float indices", "Gather", {data(x({3})), data(f32({1}, {0}))}}).find("integer type"),
            std::string::npos);
}

TEST(Gather, GatherElements) {
  check_op({"axis 0", "GatherElements", {data(x({3, 3})), data(i64({2, 3}, {1, 2, 0, -1, 0, -3}))}});
  check_op({"axis 1",
            "GatherElements",
            {data(f32({2, 2}, {1, 2, 3, 4})), data(i64({2, 2}, {0, 0, 1, 0}))},
            attribute("axis", 1),
            {f32({2, 2}, {1, 1, 4, 3})}});
  check_op({"fewer rows", "GatherElements", {data(x({3, 4})), data(i64({2, 1}, {3, -1}))}, attribute("axis", -1)});
}

TEST(Gather, GatherND) {
  check_op({"elements",
            "GatherND",
            {data(f32({2, 2}, {1, 2, 3, 4})), data(i64({2, 2}, {0, 0, 1, -1}))},
            {},
            {f32({2}, {1, 4})},
            1,
            false});
  check_op({"rows", "GatherND", {data(x({3, 4, 2})), data(i64({2, 2, 1}, {0, 2, -1, 1}))}});
  check_op({"batch", "GatherND", {data(x({2, 3, 4})), data(i64({2, 1}, {2, -3}))}, attribute("batch_dims", 1)});
  check_op({"two batch dimensions",
            "GatherND",
            {data(x({2, 3, 4, 2})), data(i64({2, 3, 1}, {0, 1, 2, 3, -1, -4}))},
            attribute("batch_dims", 2)});
  check_op({"bool",
            "GatherND",
            {data(pattern(DType::boolean, {4, 2})), data(i64({3, 2}, {0, 0, 3, 1, -2, -1}))},
            {},
            {},
            1,
            false});
  EXPECT_NE(refusal({"too long", "GatherND", {data(x({2})), data(i64({1, 2}, {0, 0}))}}).find("index tuples of 2"),
            std::string::npos);
}

TEST(Gather, OneHot) {
  const Tensor values = f32({2}, {-1, 5});
  check_op({"last axis", "OneHot", {data(i64({2, 3}, {0, 1, 2, -1, 3, -4})), known(i64({}, {3})), data(values)}});
  check_op(
      {"axis 0", "OneHot", {data(i64({3}, {0, 2, -2})), known(i64({1}, {3})), data(values)}, attribute("axis", 0)});
  check_op({"literal",
            "OneHot",
            {data(i64({2}, {1, -1})), known(i64({}, {3})), data(i64({2}, {0, 1}))},
            {},
            {i64({2, 3}, {0, 1, 0, 0, 0, 1})}});
  check_op(
      {"float indices and depth", "OneHot", {data(f32({2}, {1, 0})), known(f32({}, {2})), data(bools({2}, {0, 1}))}});
  check_op({"depth at run time", "OneHot", {data(i64({2}, {1, -1})), data(i64({}, {3})), data(values)}});
}

TEST(Generator, ConstantOfShape) {
  check_op({"default", "ConstantOfShape", {known_ints({2, 3})}, {}, {f32({2, 3}, {0})}});
  check_op({"scalar", "ConstantOfShape", {known_ints({})}, {}, {f32({}, {0})}});
  check_op({"empty", "ConstantOfShape", {known_ints({2, 0})}, {}, {f32({2, 0}, {})}});
  for (DType t : kAll) {
    const std::map<std::string, Attribute> one{{"value", std::make_shared<const Tensor>(tensor(t, {1}, {1}))}};
    check_op({std::string(name_of(t)), "ConstantOfShape", {known_ints({3})}, one, {tensor(t, {3}, {1})}});
    check_op({concat(name_of(t), ", shape at run time"),
              "ConstantOfShape",
              {data(i64({2}, {3, 2}))},
              one,
              {tensor(t, {3, 2}, {1})},
              1,
              false});
  }
}

TEST(Generator, Range) {
  struct Row {
    double start, limit, delta;
    std::vector<double> result;
  };
  for (const Row& r : {Row{0, 5, 1, {0, 1, 2, 3, 4}}, Row{1, 8, 3, {1, 4, 7}}, Row{5, 0, -2, {5, 3, 1}},
                       Row{3, 3, 1, {}}, Row{3, 1, 1, {}}, Row{-2, 2, 2, {-2, 0}}})
    for (DType t : {DType::i64, DType::i32, DType::i16, DType::f32, DType::f64})
      for (bool constant : {true, false}) {
        const auto scalar = [&](double v) { return OpInput{tensor(t, {}, {v}), constant}; };
        check_op({concat(name_of(t), " ", r.start, ":", r.limit, ":", r.delta),
                  "Range",
                  {scalar(r.start), scalar(r.limit), scalar(r.delta)},
                  {},
                  {tensor(t, {static_cast<int64_t>(r.result.size())}, r.result)}});
      }
  check_op({"fractions",
            "Range",
            {known(f32({}, {0})), known(f32({}, {1})), known(f32({}, {0.25}))},
            {},
            {f32({4}, {0, 0.25, 0.5, 0.75})}});
  EXPECT_NE(
      refusal({"delta", "Range", {known(i64({}, {0})), known(i64({}, {1})), known(i64({}, {0}))}}).find("delta is 0"),
      std::string::npos);
}

TEST(Generator, EyeLike) {
  for (int64_t k : {-5, -1, 0, 1, 2, 5}) check_op({concat("k ", k), "EyeLike", {data(x({3, 4}))}, attribute("k", k)});
  check_op({"dtype",
            "EyeLike",
            {data(x({2, 2}))},
            attribute("dtype", dtype_to_onnx(DType::i32)),
            {tensor(DType::i32, {2, 2}, {1, 0, 0, 1})}});
  EXPECT_NE(refusal({"rank", "EyeLike", {data(x({2}))}}).find("2 dimensions"), std::string::npos);
}

}  // namespace
}  // namespace gcg::test
