#include <gtest/gtest.h>

#include <cmath>

#include "tests/ops/op_test.h"

namespace gcg::test {
namespace {

const double kInf = HUGE_VAL, kNan = NAN;
constexpr DType kFloats[] = {DType::f32, DType::f64, DType::f16, DType::bf16};
constexpr DType kSigned[] = {DType::f32, DType::f64, DType::i8, DType::i32, DType::i64};

/// Two methods agree only up to the rounding of the storage type.
double tolerance(DType t) { return t == DType::f16 ? 1e-3 : t == DType::bf16 ? 8e-3 : 2e-6; }

struct Sample {
  const char* op;
  double x, y;
};

TEST(Unary, Values) {
  const Sample samples[] = {
      {"Sqrt", 4, 2},
      {"Sqrt", -1, kNan},
      {"Exp", 0, 1},
      {"Exp", -kInf, 0},
      {"Exp", 1000, kInf},
      {"Log", 1, 0},
      {"Log", 0, -kInf},
      {"Log", -1, kNan},
      {"Erf", 0.5, 0.5204998778130465},
      {"Erf", kInf, 1},
      {"Reciprocal", 4, 0.25},
      {"Reciprocal", 0, kInf},
      {"Floor", -0.5, -1},
      {"Ceil", -0.5, 0},
      {"Round", 0.5, 0},
      {"Round", 1.5, 2},
      {"Round", -2.5, -2},
      {"Sin", 1, 0.8414709848078965},
      {"Cos", 0, 1},
      {"Tan", 1, 1.5574077246549023},
      {"Asin", 1, 1.5707963267948966},
      {"Acos", 1, 0},
      {"Acos", 2, kNan},
      {"Atan", 1, 0.7853981633974483},
      {"Sinh", 1, 1.1752011936438014},
      {"Cosh", 0, 1},
      {"Asinh", 0, 0},
      {"Acosh", 1, 0},
      {"Atanh", 0.5, 0.5493061443340549},
      {"Sigmoid", 0, 0.5},
      {"Sigmoid", -kInf, 0},
      {"Tanh", kInf, 1},
      {"Abs", -2, 2},
      {"Neg", 2, -2},
      {"Sign", -3, -1},
      {"Sign", 0, 0},
      {"Sign", kNan, kNan},
      {"Relu", -1, 0},
      {"Relu", 2, 2},
      {"Relu", kNan, kNan},
  };
  for (const Sample& s : samples) check_op({concat("of ", s.x), s.op, {data(f32({1}, {s.x}))}, {}, {f32({1}, {s.y})}});
}

TEST(Unary, EveryFloatTypeAndShape) {
  for (const char* name : {"Sqrt",
                           "Exp",
                           "Log",
                           "Erf",
                           "Reciprocal",
                           "Floor",
                           "Ceil",
                           "Round",
                           "Sin",
                           "Cos",
                           "Tan",
                           "Asin",
                           "Acos",
                           "Atan",
                           "Sinh",
                           "Cosh",
                           "Asinh",
                           "Acosh",
                           "Atanh",
                           "Sigmoid",
                           "Tanh",
                           "LeakyRelu",
                           "ThresholdedRelu",
                           "Elu",
                           "Selu",
                           "Celu",
                           "HardSigmoid",
                           "HardSwish",
                           "Softplus",
                           "Softsign",
                           "Mish",
                           "Swish",
                           "Gelu",
                           "Shrink"})
    for (DType t : kFloats) {
      check_op({concat(name_of(t), " 2x3x5"), name, {data(pattern(t, {2, 3, 5}))}, {}, {}, 1, true, tolerance(t)});
      check_op({concat(name_of(t), " special values"),
                name,
                {data(tensor(t, {5}, {0, -0.0, kInf, -kInf, kNan}))},
                {},
                {},
                1,
                true,
                tolerance(t)});
      check_op({concat(name_of(t), " scalar"), name, {data(pattern(t, {}))}, {}, {}, 1, true, tolerance(t)});
      check_op({concat(name_of(t), " empty"), name, {data(pattern(t, {2, 0}))}});
    }
}

TEST(Unary, Integers) {
  for (const char* name : {"Abs", "Sign"})
    for (DType t : {DType::i8, DType::i16, DType::i32, DType::i64, DType::u8, DType::u16, DType::u32, DType::u64})
      check_op({std::string(name_of(t)), name, {data(pattern(t, {3, 4}))}});
  for (const char* name : {"Neg", "Relu", "Shrink"})
    for (DType t : kSigned) check_op({std::string(name_of(t)), name, {data(pattern(t, {3, 4}))}});
  check_op({"the least i8 has no positive",
            "Abs",
            {data(tensor(DType::i8, {2}, {-128, 5}))},
            {},
            {tensor(DType::i8, {2}, {-128, 5})}});
  check_op(
      {"u8", "BitwiseNot", {data(tensor(DType::u8, {3}, {0, 1, 255}))}, {}, {tensor(DType::u8, {3}, {255, 254, 0})}});
  check_op({"i32", "BitwiseNot", {data(tensor(DType::i32, {2}, {0, -5}))}, {}, {tensor(DType::i32, {2}, {-1, 4})}});
  check_op({"bool", "Not", {data(bools({2}, {0, 1}))}, {}, {bools({2}, {1, 0})}});
}

TEST(Unary, Predicates) {
  const Tensor x = f32({5}, {1, kInf, -kInf, kNan, 0});
  check_op({"all", "IsNaN", {data(x)}, {}, {bools({5}, {0, 0, 0, 1, 0})}});
  check_op({"both signs", "IsInf", {data(x)}, {}, {bools({5}, {0, 1, 1, 0, 0})}});
  check_op({"only negative", "IsInf", {data(x)}, {{"detect_positive", int64_t{0}}}, {bools({5}, {0, 0, 1, 0, 0})}});
  check_op({"only positive", "IsInf", {data(x)}, {{"detect_negative", int64_t{0}}}, {bools({5}, {0, 1, 0, 0, 0})}});
  check_op({"neither",
            "IsInf",
            {data(x)},
            {{"detect_negative", int64_t{0}}, {"detect_positive", int64_t{0}}},
            {bools({5}, {0, 0, 0, 0, 0})}});
}

TEST(Unary, Attributes) {
  const Tensor x = f32({4}, {-2, -0.25, 0.25, 2});
  check_op({"alpha", "LeakyRelu", {data(x)}, {{"alpha", 0.5}}, {f32({4}, {-1, -0.125, 0.25, 2})}});
  check_op({"alpha", "ThresholdedRelu", {data(x)}, {{"alpha", 0.25}}, {f32({4}, {0, 0, 0, 2})}});
  check_op({"alpha", "Elu", {data(x)}, {{"alpha", 2.0}}, {f32({4}, {-1.7293294, -0.4423984, 0.25, 2})}});
  check_op({"alpha and gamma",
            "Selu",
            {data(x)},
            {{"alpha", 2.0}, {"gamma", 3.0}},
            {f32({4}, {-5.1879883, -1.3271953, 0.75, 6})}});
  check_op({"alpha", "Celu", {data(x)}, {{"alpha", 2.0}}, {f32({4}, {-1.2642411, -0.23500619, 0.25, 2})}});
  check_op(
      {"alpha and beta", "HardSigmoid", {data(x)}, {{"alpha", 0.5}, {"beta", 0.25}}, {f32({4}, {0, 0.125, 0.375, 1})}});
  check_op({"defaults", "HardSwish", {data(x)}, {}, {f32({4}, {-0.3333333, -0.1145833, 0.1354167, 1.6666667})}});
  check_op({"lambd and bias", "Shrink", {data(x)}, {{"lambd", 1.5}, {"bias", 1.5}}, {f32({4}, {-0.5, 0, 0, 0.5})}});
  check_op(
      {"lambd on integers", "Shrink", {data(i64({4}, {-3, -1, 1, 3}))}, {{"lambd", 1.5}}, {i64({4}, {-3, 0, 0, 3})}});
  check_op({"erf", "Gelu", {data(x)}, {}, {f32({4}, {-0.04550026, -0.1003234, 0.1496766, 1.9544997})}});
  check_op({"tanh",
            "Gelu",
            {data(x)},
            {{"approximate", "tanh"}},
            {f32({4}, {-0.0454023, -0.1003239, 0.1496761, 1.9545977})}});
  check_op(
      {"alpha", "Swish", {data(x)}, {{"alpha", 2.0}}, {f32({4}, {-0.03597242, -0.09438517, 0.15561483, 1.9640276})}});
  EXPECT_NE(refusal({"unknown way", "Gelu", {data(x)}, {{"approximate", "sigmoid"}}}).find("'sigmoid'"),
            std::string::npos);
  EXPECT_NE(refusal({"of integers", "Exp", {data(i64({1}, {1}))}}).find("must be a float type"), std::string::npos);
}

TEST(Unary, PRelu) {
  const Tensor x = pattern(DType::f32, {2, 3, 4});
  check_op({"slope per channel", "PRelu", {data(x), data(pattern(DType::f32, {3, 1}, 3))}});
  check_op({"scalar slope", "PRelu", {data(x), data(f32({}, {0.5}))}});
  check_op({"full slope", "PRelu", {data(x), known(pattern(DType::f32, {2, 3, 4}, 5))}});
  check_op({"integers", "PRelu", {data(i64({3}, {-2, 0, 3})), data(i64({1}, {3}))}, {}, {i64({3}, {-6, 0, 3})}});
  EXPECT_NE(refusal({"slope is larger", "PRelu", {data(f32({1}, {1})), data(f32({3}, {1}))}}).find("slope"),
            std::string::npos);
}

TEST(Unary, Clip) {
  const Tensor x = f32({5}, {-3, -1, 0, 2, kNan});
  check_op({"both bounds",
            "Clip",
            {data(x), known(f32({}, {-1})), known(f32({}, {1}))},
            {},
            {f32({5}, {-1, -1, 0, 1, kNan})}});
  check_op({"only min", "Clip", {data(x), data(f32({}, {-1}))}, {}, {f32({5}, {-1, -1, 0, 2, kNan})}});
  check_op({"only max", "Clip", {data(x), omitted(), data(f32({}, {1}))}, {}, {f32({5}, {-3, -1, 0, 1, kNan})}});
  check_op({"no bounds", "Clip", {data(x)}, {}, {x}});
  check_op({"a bound that is NaN",
            "Clip",
            {data(x), data(f32({}, {kNan})), data(f32({}, {1}))},
            {},
            {f32({5}, {-3, -1, 0, 1, kNan})}});
  check_op({"a constant bound that is NaN",
            "Clip",
            {data(x), known(f32({}, {-1})), known(f32({}, {kNan}))},
            {},
            {f32({5}, {-1, -1, 0, 2, kNan})}});
  check_op({"crossed bounds give max",
            "Clip",
            {data(x), known(f32({}, {1})), known(f32({}, {-1}))},
            {},
            {f32({5}, {-1, -1, -1, -1, kNan})}});
  check_op({"bounds of one element",
            "Clip",
            {data(i64({3}, {-5, 0, 5})), known(i64({1}, {-1})), data(i64({1}, {1}))},
            {},
            {i64({3}, {-1, 0, 1})}});
  check_op({"u8",
            "Clip",
            {data(tensor(DType::u8, {3}, {0, 100, 255})), known(tensor(DType::u8, {}, {10})),
             known(tensor(DType::u8, {}, {200}))},
            {},
            {tensor(DType::u8, {3}, {10, 100, 200})}});
  check_op(
      {"contents", "Clip", {known_ints({-5, 7}), known(i64({}, {0})), known(i64({}, {4}))}, {}, {i64({2}, {0, 4})}});
}

TEST(Conversion, Cast) {
  constexpr DType kAll[] = {DType::f32, DType::f64, DType::f16, DType::bf16, DType::i8,  DType::i16,    DType::i32,
                            DType::i64, DType::u8,  DType::u16, DType::u32,  DType::u64, DType::boolean};
  for (DType from : kAll)
    for (DType to : kAll) {
      const std::map<std::string, Attribute> attributes{{"to", int64_t{dtype_to_onnx(to)}}};
      check_op({concat(name_of(from), " to ", name_of(to)), "Cast", {data(pattern(from, {3, 7}))}, attributes});
      check_op({concat(name_of(from), " like ", name_of(to)),
                "CastLike",
                {data(pattern(from, {7})), data(pattern(to, {2}))}});
    }
}

TEST(Conversion, CastOfSmallTypes) {
  const Tensor x = f32({18}, {0, -0.0, 1, -1.0625, 0.3, 2.5, -7, 15.9, 448, 464, -57344, 1e6, 1e-7, 0.0009765625, 0.001,
                              INFINITY, -INFINITY, NAN});
  for (const DType t : {DType::f8e4m3fn, DType::f8e4m3fnuz, DType::f8e5m2, DType::f8e5m2fnuz, DType::f4e2m1}) {
    const auto to = [](DType type) { return static_cast<int64_t>(dtype_to_onnx(type)); };
    for (const int64_t saturate : {0, 1})
      check_op({concat("to ", name_of(t), " ", saturate), "Cast", {data(x)}, {{"to", to(t)}, {"saturate", saturate}}});
    Tensor all(t, {t == DType::f4e2m1 ? 16 : 256});
    for (int64_t i = 0; i < all.elements(); ++i) all.mutable_data()[i] = static_cast<uint8_t>(i);
    check_op({concat("from ", name_of(t)), "Cast", {data(all)}, {{"to", to(DType::f32)}}});
  }
  for (const DType t : {DType::i4, DType::u4, DType::i2, DType::u2}) {
    const int64_t to = dtype_to_onnx(t);
    check_op({concat("to ", name_of(t)), "Cast", {data(f32({6}, {-9, -1, 0, 1.9, 7, 15}))}, {{"to", to}}});
    check_op({concat("to ", name_of(t)), "Cast", {data(tensor(DType::i8, {3}, {-9, 3, 100}))}, {{"to", to}}});
    check_op({concat("from ", name_of(t)), "Cast", {data(tensor(t, {4}, {0, 1, 2, 3}))}, {{"to", int64_t{1}}}});
  }
  check_op({"literal",
            "Cast",
            {data(f32({4}, {1, -2.25, 500, 0.4375}))},
            {{"to", int64_t{17}}},
            {tensor(DType::f8e4m3fn, {4}, {1, -2.25, 448, 0.4375})}});
}

TEST(Conversion, BitCast) {
  const Tensor x = f32({2}, {1, -2});
  // BitCast has no lowering: its readers read the input's storage as the other type.
  const std::vector<Tensor> y =
      run_reference({"to integers", "BitCast", {data(x)}, {{"to", int64_t{dtype_to_onnx(DType::u32)}}}});
  expect_near(y.at(0), tensor(DType::u32, {2}, {0x3f800000, 0xc0000000}), 0, "bits");
  EXPECT_NE(refusal({"size", "BitCast", {data(x)}, {{"to", int64_t{7}}}}).find("differ in size"), std::string::npos);
}

TEST(Conversion, CastOfSpecialValues) {
  const Tensor x = f32({7}, {kInf, -kInf, kNan, 1e30, -1.9, 1.9, -0.0});
  const auto to = [](DType t) { return std::map<std::string, Attribute>{{"to", int64_t{dtype_to_onnx(t)}}}; };
  check_op({"saturates i8", "Cast", {data(x)}, to(DType::i8), {tensor(DType::i8, {7}, {127, -128, 0, 127, -1, 1, 0})}});
  check_op({"saturates u8", "Cast", {data(x)}, to(DType::u8), {tensor(DType::u8, {7}, {255, 0, 0, 255, 0, 1, 0})}});
  check_op({"i64", "Cast", {data(x)}, to(DType::i64)});
  check_op({"u64", "Cast", {data(x)}, to(DType::u64)});
  check_op({"NaN is true", "Cast", {data(x)}, to(DType::boolean), {bools({7}, {1, 1, 1, 1, 1, 1, 0})}});
  check_op({"integers wrap",
            "Cast",
            {data(i64({3}, {256, -1, 130}))},
            to(DType::i8),
            {tensor(DType::i8, {3}, {0, -1, -126})}});
  EXPECT_NE(refusal({"to strings", "Cast", {data(x)}, {{"to", int64_t{8}}}}).find("element type 8"), std::string::npos);
}

/// Numbers near the ends of all types' ranges and near rounding ties, converted to `type`.
Tensor ends_of_ranges(DType type) {
  std::vector<double> all = {0, -0.0, 0.5, 1.5, 2.5, 0.99, 1e-9, 65504, 65519.99, 65520, 65536, 1e30, 3e38};
  for (const int bits : {1, 2, 4, 7, 8, 11, 15, 16, 24, 31, 32, 53, 63, 64})
    for (const double off : {-1.0, -0.5, 0.0, 0.5, 1.0}) all.push_back(std::ldexp(1.0, bits) + off);
  for (const int exponent : {-150, -133, -126, -25, -24, -15, -14})  // subnormal numbers of f32, bf16 and f16
    for (const double by : {1.0, 1.5, 3.0}) all.push_back(std::ldexp(by, exponent));
  for (const int fraction : {8, 9, 11, 12})  // ties of bf16 and f16
    for (const double beside : {-1e-9, 0.0, 1e-9}) all.push_back(1 + std::ldexp(3.0, -fraction) + beside);
  if (is_float(type)) all.insert(all.end(), {kInf, kNan});
  Tensor t(type, {2 * static_cast<int64_t>(all.size())});
  for (size_t i = 0; i < all.size(); ++i)
    for (const double sign : {1.0, -1.0}) {
      const int64_t at = 2 * static_cast<int64_t>(i) + (sign < 0 ? 1 : 0);
      const double x = sign * all[i];
      if (is_float(type))
        t.set_double(at, x);
      else
        t.set_int(at, std::abs(x) < 9e18 ? static_cast<int64_t>(x) : x < 0 ? INT64_MIN : INT64_MAX);
    }
  return t;
}

TEST(Conversion, CastAroundTheEndsOfRanges) {
  for (const DType from : {DType::f32, DType::f64, DType::f16, DType::bf16, DType::i64, DType::u64, DType::i32})
    for (const DType to :
         {DType::f32,        DType::f64,    DType::f16,        DType::bf16,  DType::i8,  DType::i16,
          DType::i32,        DType::i64,    DType::u8,         DType::u16,   DType::u32, DType::u64,
          DType::boolean,    DType::i4,     DType::u4,         DType::i2,    DType::u2,  DType::f8e4m3fn,
          DType::f8e4m3fnuz, DType::f8e5m2, DType::f8e5m2fnuz, DType::f4e2m1})
      check_op({concat(name_of(from), " to ", name_of(to)),
                "Cast",
                {data(ends_of_ranges(from))},
                {{"to", int64_t{dtype_to_onnx(to)}}}});
}

TEST(Conversion, IdentityAndDropout) {
  check_op({"f32", "Identity", {data(pattern(DType::f32, {2, 3}))}});
  check_op({"contents", "Identity", {known_ints({3, 4})}, {}, {i64({2}, {3, 4})}});
  const Tensor x = pattern(DType::f32, {2, 3});
  check_op({"identity", "Dropout", {data(x), known(f32({}, {0.5}))}, {}, {x}});
  check_op({"mask", "Dropout", {data(x), omitted(), known(bools({}, {0}))}, {}, {x, bools({2, 3}, {1})}, 2});
  EXPECT_NE(refusal({"training", "Dropout", {data(x), omitted(), known(bools({}, {1}))}}).find("training_mode"),
            std::string::npos);
}

}  // namespace
}  // namespace gcg::test
