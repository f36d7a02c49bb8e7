#include <gtest/gtest.h>

#include <cmath>
#include <iterator>

#include "tests/ops/op_test.h"

namespace gcg::test {
namespace {

const double kInf = HUGE_VAL, kNan = NAN;
constexpr DType kNumbers[] = {DType::f32, DType::f64, DType::f16, DType::bf16, DType::i8,  DType::i16,
                              DType::i32, DType::i64, DType::u8,  DType::u16,  DType::u32, DType::u64};

struct Forms {
  std::vector<int64_t> a, b;
};
const Forms kForms[] = {{{2, 3}, {2, 3}}, {{2, 3}, {3}},    {{3}, {2, 3}}, {{2, 1, 4}, {3, 1}}, {{}, {2, 2}},
                        {{1}, {}},        {{2, 3}, {1, 1}}, {{0, 3}, {3}}, {{2, 0}, {2, 1}},    {{1, 5}, {4, 1}}};

/// With symbolic extents, the table covers every pair of operator and type, operator and case, and type and case, but
/// not every triple.
TEST(Binary, EveryTypeAndBroadcast) {
  constexpr const char* kOperators[] = {"Add", "Sub",   "Mul",  "Div",     "Max",         "Min",
                                        "Sum", "Equal", "Less", "Greater", "LessOrEqual", "GreaterOrEqual"};
  for (size_t op = 0; op < std::size(kOperators); ++op)
    for (size_t type = 0; type < std::size(kNumbers); ++type)
      for (size_t form = 0; form < std::size(kForms); ++form) {
        const DType t = kNumbers[type];
        const Forms& f = kForms[form];
        check_op({concat(name_of(t), " ", str(to_shape(f.a)), " ", str(to_shape(f.b))),
                  kOperators[op],
                  {data(pattern(t, f.a)), data(pattern(t, f.b, 2))},
                  {},
                  {},
                  1,
                  (op + type + form) % 3 == 0,
                  t == DType::bf16  ? 8e-3
                  : t == DType::f16 ? 1e-3
                                    : 2e-6});
      }
}

TEST(Binary, FloatValues) {
  const Tensor a = f32({6}, {1, -1, 0, kInf, kNan, 3}), b = f32({6}, {0, 0, 0, kInf, 1, kNan});
  check_op({"by zero", "Div", {data(a), data(b)}, {}, {f32({6}, {kInf, -kInf, kNan, kNan, kNan, kNan})}});
  check_op({"NaN wins", "Max", {data(a), data(b)}, {}, {f32({6}, {1, 0, 0, kInf, kNan, kNan})}});
  check_op({"NaN wins", "Min", {data(a), data(b)}, {}, {f32({6}, {0, -1, 0, kInf, kNan, kNan})}});
  for (const char* name : {"Max", "Min"})
    check_op({"a constant NaN wins",
              name,
              {data(a), known(f32({}, {kNan}))},
              {},
              {f32({6}, {kNan, kNan, kNan, kNan, kNan, kNan})}});
  check_op({"NaN is unequal", "Equal", {data(a), data(b)}, {}, {bools({6}, {0, 0, 1, 1, 0, 0})}});
  check_op({"NaN is unordered", "LessOrEqual", {data(a), data(b)}, {}, {bools({6}, {0, 1, 1, 1, 0, 0})}});
}

TEST(Binary, IntegerValues) {
  const auto i8 = [](const std::vector<double>& v) { return tensor(DType::i8, {static_cast<int64_t>(v.size())}, v); };
  check_op({"towards zero, by zero gives zero",
            "Div",
            {data(i8({7, -7, 7, -7, 5, -128})), data(i8({2, 2, -2, -2, 0, -1}))},
            {},
            {i8({3, -3, -3, 3, 0, -128})}});
  check_op({"wraps", "Add", {data(i8({127})), data(i8({1}))}, {}, {i8({-128})}});
  const Tensor huge = Tensor::from<uint64_t>(DType::u64, {2}, {~uint64_t{0}, 1});
  check_op({"u64 order", "Less", {data(huge), data(tensor(DType::u64, {}, {2}))}, {}, {bools({2}, {0, 1})}});
  check_op({"u64 quotient",
            "Div",
            {data(huge), data(tensor(DType::u64, {}, {2}))},
            {},
            {Tensor::from<uint64_t>(DType::u64, {2}, {~uint64_t{0} / 2, 0})}});
  check_op({"bool", "Equal", {data(bools({3}, {0, 1, 1})), data(bools({}, {1}))}, {}, {bools({3}, {0, 1, 1})}});
}

TEST(Binary, Variadic) {
  for (const char* name : {"Max", "Min", "Sum", "Mean"}) {
    check_op({"one input", name, {data(pattern(DType::f32, {2, 3}))}});
    check_op(
        {"three inputs",
         name,
         {data(pattern(DType::f32, {2, 3})), data(pattern(DType::f32, {3}, 2)), data(pattern(DType::f32, {2, 1}, 3))}});
  }
  check_op({"literal",
            "Mean",
            {data(f32({2}, {1, 2})), data(f32({2}, {3, 6})), data(f32({}, {2}))},
            {},
            {f32({2}, {2, 10.0 / 3})}});
}

TEST(Binary, Logic) {
  const Tensor a = bools({4}, {0, 0, 1, 1}), b = bools({4}, {0, 1, 0, 1});
  check_op({"table", "And", {data(a), data(b)}, {}, {bools({4}, {0, 0, 0, 1})}});
  check_op({"table", "Or", {data(a), data(b)}, {}, {bools({4}, {0, 1, 1, 1})}});
  check_op({"table", "Xor", {data(a), data(b)}, {}, {bools({4}, {0, 1, 1, 0})}});
  for (const char* name : {"And", "Or", "Xor"}) {
    check_op({"contents", name, {known(a), known(b)}});
    check_op({"broadcast", name, {data(bools({2, 1}, {0, 1})), data(a)}});
  }
  EXPECT_NE(refusal({"of numbers", "And", {data(i64({1}, {1})), data(i64({1}, {1}))}}).find("must be bool"),
            std::string::npos);
  EXPECT_NE(refusal({"mixed types", "Add", {data(i64({1}, {1})), data(f32({1}, {1}))}}).find("input 1 is f32"),
            std::string::npos);
  EXPECT_NE(refusal({"extents differ", "Add", {data(f32({2}, {1})), data(f32({3}, {1}))}}).find("differ"),
            std::string::npos);
}

TEST(Binary, Bits) {
  for (const char* name : {"BitwiseAnd", "BitwiseOr", "BitwiseXor"})
    for (DType t : {DType::i8, DType::i32, DType::i64, DType::u8, DType::u16, DType::u32, DType::u64})
      check_op({std::string(name_of(t)), name, {data(pattern(t, {3, 4})), data(pattern(t, {4}, 3))}});
  const auto u8 = [](const std::vector<double>& v) { return tensor(DType::u8, {static_cast<int64_t>(v.size())}, v); };
  check_op({"left",
            "BitShift",
            {data(u8({1, 255, 3, 7})), data(u8({1, 4, 8, 200}))},
            {{"direction", "LEFT"}},
            {u8({2, 240, 0, 0})}});
  check_op(
      {"right", "BitShift", {data(u8({16, 255, 3})), data(u8({1, 4, 8}))}, {{"direction", "RIGHT"}}, {u8({8, 15, 0})}});
  for (DType t : {DType::u16, DType::u32, DType::u64})
    for (const char* way : {"LEFT", "RIGHT"})
      check_op({concat(name_of(t), " ", way),
                "BitShift",
                {data(pattern(t, {5, 9})), data(pattern(t, {9}, 4))},
                {{"direction", way}}});
  EXPECT_NE(refusal({"no direction", "BitShift", {data(u8({1})), data(u8({1}))}}).find("direction"), std::string::npos);
}

TEST(Binary, Pow) {
  check_op({"literals",
            "Pow",
            {data(f32({5}, {2, 4, -2, 0, -8})), data(f32({5}, {3, 0.5, 3, 0, 0.5}))},
            {},
            {f32({5}, {8, 2, -8, 1, kNan})}});
  for (double e : {1.0, 2.0, 3.0, 0.5, -1.0, 0.0})
    for (DType t : {DType::f32, DType::f64, DType::f16})
      check_op({concat(name_of(t), " to the constant ", e),
                "Pow",
                {data(pattern(t, {2, 20})), known(tensor(t, {}, {e}))},
                {},
                {},
                1,
                true,
                t == DType::f16 ? 2e-3 : 2e-6});
  check_op({"integer exponent",
            "Pow",
            {data(f32({3}, {1.5, -2, 0})), data(i64({3}, {2, 3, 5}))},
            {},
            {f32({3}, {2.25, -8, 0})}});
  check_op({"f64 exponent of f32",
            "Pow",
            {data(f32({2}, {2, 3})), data(tensor(DType::f64, {}, {2}))},
            {},
            {f32({2}, {4, 9})}});
  check_op({"integers",
            "Pow",
            {data(i64({3, 1}, {2, -3, 1})), data(tensor(DType::i32, {3}, {0, 3, 10}))},
            {},
            {i64({3, 3}, {1, 8, 1024, 1, -27, 59049, 1, 1, 1})}});
  check_op({"i32 to a float",
            "Pow",
            {data(tensor(DType::i32, {2}, {4, 9})), data(f32({}, {0.5}))},
            {},
            {tensor(DType::i32, {2}, {2, 3})}});
}

TEST(Binary, Mod) {
  const Tensor a = i64({6}, {7, -7, 7, -7, 5, -4}), b = i64({6}, {3, 3, -3, -3, 0, 2});
  check_op({"sign of the divisor", "Mod", {data(a), data(b)}, {}, {i64({6}, {1, 2, -2, -1, 0, 0})}});
  check_op(
      {"sign of the dividend", "Mod", {data(a), data(b)}, {{"fmod", int64_t{1}}}, {i64({6}, {1, -1, 1, -1, 0, 0})}});
  check_op({"floats",
            "Mod",
            {data(f32({4}, {5.5, -5.5, 5.5, kInf})), data(f32({4}, {2, 2, -2, 1}))},
            {{"fmod", int64_t{1}}},
            {f32({4}, {1.5, -1.5, 1.5, kNan})}});
  for (DType t : {DType::i8, DType::i32, DType::i64, DType::u8, DType::u32, DType::u64})
    for (int64_t fmod : {0, 1})
      check_op({concat(name_of(t), " fmod ", fmod),
                "Mod",
                {data(pattern(t, {4, 9})), data(pattern(t, {9}, 5))},
                {{"fmod", fmod}}});
  EXPECT_NE(refusal({"floats without fmod", "Mod", {data(f32({1}, {1})), data(f32({1}, {1}))}}).find("fmod"),
            std::string::npos);
}

TEST(Binary, Where) {
  const Tensor c = bools({2, 1}, {1, 0});
  for (DType t : {DType::f32, DType::f64, DType::f16, DType::i32, DType::i64, DType::u8, DType::boolean})
    check_op({std::string(name_of(t)), "Where", {data(c), data(pattern(t, {3})), data(pattern(t, {2, 3}, 4))}});
  check_op({"scalars", "Where", {data(c), data(f32({}, {1})), data(f32({}, {kNan}))}, {}, {f32({2, 1}, {1, kNan})}});
  check_op({"empty", "Where", {data(c), data(f32({0}, {})), data(f32({}, {1}))}});
  check_op({"known condition",
            "Where",
            {known(bools({2}, {0, 1})), known_ints({1, 2}), known_ints({3, 4})},
            {},
            {i64({2}, {3, 2})}});
}

TEST(Binary, ContentsOfConstants) {
  for (const char* name :
       {"Add", "Sub", "Mul", "Div", "Max", "Min", "Mod", "Equal", "Less", "Greater", "LessOrEqual", "GreaterOrEqual"})
    for (const Tensor& b : {i64({5}, {3, -2, 4, -7, 1}), i64({}, {3}), i64({1}, {-3})})
      check_op({"constants", name, {known_ints({7, -7, 4, 0, -1}), known(b)}});
}

}  // namespace
}  // namespace gcg::test
