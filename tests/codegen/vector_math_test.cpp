// Errors of the elementary functions in units in the last place, against the C library in double, over all floats.
// GCC_GRAPH_MATH_STRIDE=1 tests every one of the 2^32 floats (minutes); the default takes a sample.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <iostream>
#include <limits>
#include <random>
#include <tuple>

#include "tests/codegen/loop_harness.h"
#include "tests/codegen/loop_kernels.h"

namespace gcg::test {
namespace {

constexpr int64_t kBatch = 1 << 16;

/// |actual - exact| in units of the last place of the float nearest to `exact`.
double ulps(float actual, double exact) {
  const auto nearest = static_cast<float>(exact);
  if (std::isnan(exact)) return std::isnan(actual) ? 0 : INFINITY;
  if (std::isinf(nearest) || std::isinf(actual)) {
    // Rounding at the edge of the range may go either way.
    const bool edge = std::fabs(exact) > 3.4028234e38 && std::fabs(static_cast<double>(actual)) > 3.4028233e38;
    return nearest == actual || (edge && std::signbit(nearest) == std::signbit(actual)) ? 0 : INFINITY;
  }
  const double unit = std::max(std::ldexp(1.0, std::ilogb(nearest == 0 ? 1e-45f : nearest) - 23), 0x1p-149);
  return std::fabs(static_cast<double>(actual) - exact) / unit;
}

struct Worst {
  double error = 0;
  float at = 0, value = 0;
};

class FunctionUnderTest {
 public:
  FunctionUnderTest(UnaryOp op, const std::string& target)
      : kernel_(map_kernel("function", {{DType::f32, {kBatch}}, {DType::f32, {kBatch}}},
                           [op](const auto& i) { return unary(op, load(0, DType::f32, i)); })),
        code_(kernel_, target) {}

  template <class Reference>
  Worst worst(Reference&& reference, uint64_t stride, double least) {
    Worst result;
    std::vector<float> x, y(kBatch);
    uint64_t bits = 0;
    while (bits < (uint64_t{1} << 32)) {
      x.clear();
      for (; bits < (uint64_t{1} << 32) && x.size() < kBatch; bits += stride)
        x.push_back(std::bit_cast<float>(static_cast<uint32_t>(bits)));
      const size_t count = x.size();
      x.resize(kBatch);
      code_.call({x.data(), y.data()}, {}, 0, code_.tasks({}));
      for (size_t i = 0; i < count; ++i) {
        const double exact = reference(static_cast<double>(x[i]));
        const double error = std::fabs(exact) < least && y[i] == 0 ? 0 : ulps(y[i], exact);
        if (error > result.error) result = {error, x[i], y[i]};
      }
    }
    return result;
  }

 private:
  Kernel kernel_;
  RunnableKernel code_;
};

uint64_t stride() {
  const char* text = std::getenv("GCC_GRAPH_MATH_STRIDE");
  return text == nullptr ? 4999 : std::strtoull(text, nullptr, 10);
}

/// The result may be 0 where the exact value is below `least`.
template <class Reference>
void expect_accuracy(UnaryOp op, double limit, Reference&& reference, double least = 0) {
  for (const std::string& target : runnable_targets()) {
    const Worst worst = FunctionUnderTest(op, target).worst(reference, stride(), least);
    std::cout << target << ": largest error " << worst.error << " ulp at " << worst.at << "\n";
    EXPECT_LE(worst.error, limit) << target << ": f(" << worst.at << ") = " << worst.value;
  }
}

TEST(VectorMath, Exp) {
  expect_accuracy(UnaryOp::exp, 1.0, [](double x) { return std::exp(x); }, 0x1p-125);
}
TEST(VectorMath, Log) {
  expect_accuracy(UnaryOp::log, 1.0, [](double x) { return std::log(x); });
}
TEST(VectorMath, Erf) {
  expect_accuracy(UnaryOp::erf, 1.2, [](double x) { return std::erf(x); });
}
TEST(VectorMath, Tanh) {
  expect_accuracy(UnaryOp::tanh, 3.0, [](double x) { return std::tanh(x); });
}
TEST(VectorMath, Sigmoid) {
  expect_accuracy(UnaryOp::sigmoid, 2.5, [](double x) { return 1 / (1 + std::exp(-x)); }, 0x1p-125);
}
TEST(VectorMath, Angles) {
  expect_accuracy(UnaryOp::sin, 1.7, [](double x) { return std::sin(x); });
  expect_accuracy(UnaryOp::cos, 1.7, [](double x) { return std::cos(x); });
  expect_accuracy(UnaryOp::tan, 3.6, [](double x) { return std::tan(x); });
}
TEST(VectorMath, InverseAngles) {
  expect_accuracy(UnaryOp::asin, 2.5, [](double x) { return std::asin(x); });
  expect_accuracy(UnaryOp::acos, 2.0, [](double x) { return std::acos(x); });
  expect_accuracy(UnaryOp::atan, 2.0, [](double x) { return std::atan(x); });
}

/// Bases and exponents of all sizes; most of their powers are in the range of floats.
TEST(VectorMath, Pow) {
  const Operand floats{DType::f32, {kBatch}};
  const Kernel kernel = map_kernel("pow", {floats, floats, floats}, [](const auto& i) {
    return binary(BinaryOp::pow, load(0, DType::f32, i), load(1, DType::f32, i));
  });
  for (const std::string& target : runnable_targets()) {
    const RunnableKernel code(kernel, target);
    std::vector<float> x(kBatch), y(kBatch), z(kBatch);
    uint32_t random = 1;
    const auto next = [&] { return random = random * 1664525 + 1013904223; };
    Worst worst;
    for (int batch = 0; batch < 16; ++batch) {
      for (size_t i = 0; i < x.size(); ++i) {
        x[i] = std::bit_cast<float>(batch % 2 == 0 ? next() >> 1 : 0x3f000000 + (next() >> 7));  // any, or near 1
        const double most = 150 / std::max(1e-4, std::abs(std::log2(static_cast<double>(x[i]))));
        y[i] = static_cast<float>(most * (static_cast<double>(next()) * 0x1p-31 - 1));
      }
      code.call({x.data(), y.data(), z.data()}, {}, 0, code.tasks({}));
      for (size_t i = 0; i < x.size(); ++i) {
        const double error = ulps(z[i], std::pow(static_cast<double>(x[i]), static_cast<double>(y[i])));
        if (error > worst.error) worst = {error, x[i], y[i]};
      }
    }
    std::cout << target << ": largest error " << worst.error << " ulp at " << worst.at << "^" << worst.value << "\n";
    EXPECT_LE(worst.error, 0.6) << target << ": " << worst.at << "^" << worst.value;
  }
}

TEST(VectorMath, SpecialPowers) {
  const std::vector<float> values{0.0F,        -0.0F,       1.0F,     -1.0F,     0.5F,   -0.5F, 2.0F,   -2.0F,
                                  3.0F,        -3.0F,       2.5F,     -2.5F,     1e-40F, 1e30F, -1e30F, 8388609.0F,
                                  16777217.0F, -8388609.0F, INFINITY, -INFINITY, NAN,    0.1F};
  const auto count = static_cast<int64_t>(values.size());
  const Kernel kernel = map_kernel(
      "powers", {{DType::f32, {count}}, {DType::f32, {count}}, {DType::f32, {count, count}}},
      [](const auto& i) { return binary(BinaryOp::pow, load(0, DType::f32, {i[0]}), load(1, DType::f32, {i[1]})); });
  for (const std::string& target : runnable_targets()) {
    const Tensor v = Tensor::from(DType::f32, {count}, values);
    std::vector<Tensor> operands{v, v, Tensor(DType::f32, {count, count})};
    RunnableKernel(kernel, target).run(operands, {}, false);
    for (size_t i = 0; i < values.size(); ++i)
      for (size_t j = 0; j < values.size(); ++j) {
        const double exact = std::pow(static_cast<double>(values[i]), static_cast<double>(values[j]));
        const float got = operands[2].as<float>()[i * values.size() + j];
        EXPECT_LE(ulps(got, exact), 1.0) << target << ": " << values[i] << "^" << values[j] << " is " << got;
        if (std::isnan(exact)) continue;
        EXPECT_EQ(std::signbit(got), std::signbit(exact)) << values[i] << "^" << values[j];
      }
  }
}

TEST(VectorMath, SpecialValues) {
  const std::vector<float> x{INFINITY,      -INFINITY,      NAN,       0.0f,    -0.0f, 1e-45f,
                             3.4028235e38f, -3.4028235e38f, 88.72284f, -103.97f};
  struct Row {
    UnaryOp op;
    double (*reference)(double);
  };
  const Row rows[] = {{UnaryOp::exp, std::exp},   {UnaryOp::log, std::log},  {UnaryOp::erf, std::erf},
                      {UnaryOp::tanh, std::tanh}, {UnaryOp::sin, std::sin},  {UnaryOp::cos, std::cos},
                      {UnaryOp::atan, std::atan}, {UnaryOp::asin, std::asin}};
  for (const Row& row : rows)
    for (const std::string& target : runnable_targets()) {
      // Ten elements take a masked vector or scalar code; the sweep above uses whole vectors.
      const Kernel kernel = map_kernel("special", {{DType::f32, {10}}, {DType::f32, {10}}},
                                       [&](const auto& i) { return unary(row.op, load(0, DType::f32, i)); });
      std::vector<Tensor> operands{Tensor::from(DType::f32, {10}, x), Tensor(DType::f32, {10})};
      RunnableKernel(kernel, target).run(operands, {}, false);
      for (size_t i = 0; i < x.size(); ++i)
        EXPECT_LE(ulps(operands[1].as<float>()[i], row.reference(static_cast<double>(x[i]))), 2.0)
            << target << ", operator " << static_cast<int>(row.op) << " at " << x[i];
    }
}

/// exp of masked scores: no result may be a denormal, because arithmetic on denormals is thirty times slower on some
/// CPUs.
TEST(VectorMath, ExpIsZeroBelowTheNormalNumbers) {
  const Kernel kernel = map_kernel("exp", {{DType::f32, {kBatch}}, {DType::f32, {kBatch}}},
                                   [](const auto& i) { return unary(UnaryOp::exp, load(0, DType::f32, i)); });
  for (const std::string& target : runnable_targets()) {
    const RunnableKernel code(kernel, target);
    std::vector<float> x, y(kBatch);
    for (float at = -87; at > -110; at -= 0x1p-8F) x.push_back(at);
    for (const float far : {-1e3F, -65504.0F, -1e9F, -3.4e38F, -INFINITY}) x.push_back(far);
    x.resize(kBatch, 0);
    code.call({x.data(), y.data()}, {}, 0, code.tasks({}));
    for (size_t i = 0; i < x.size(); ++i)
      ASSERT_TRUE(y[i] == 0 || std::isnormal(y[i])) << target << ": exp(" << x[i] << ") is " << y[i];
  }
}

/// The result has the bits of a rounded division. The inputs are the neighbours of n + 1/2 steps, and floats of all
/// sizes.
TEST(RoundedQuotient, IsThatOfADivision) {
  for (const std::string& target : runnable_targets()) {
    for (const float c : {0.05F, 1.0F / 3, 0.0078125F, 0.045368254F, 3.7F, 1e-6F, 1.9999999F}) {
      const Kernel kernel = map_kernel("rounded", {{DType::f32, {kBatch}}, {DType::f32, {kBatch}}}, [c](const auto& i) {
        return unary(UnaryOp::round_even, binary(BinaryOp::div, load(0, DType::f32, i), constant_float(DType::f32, c)));
      });
      const RunnableKernel code(kernel, target);
      std::vector<float> x, y(kBatch);
      for (int n = -1024; n < 1024; ++n) {
        float at = (static_cast<float>(n) + 0.5F) * c;
        for (int k = 0; k < 8; ++k) at = std::nextafter(at, -INFINITY);
        for (int k = 0; k < 16; ++k) x.push_back(at = std::nextafter(at, INFINITY));
      }
      while (x.size() < kBatch) x.push_back(std::bit_cast<float>(static_cast<uint32_t>(x.size() * 65537)));
      code.call({x.data(), y.data()}, {}, 0, code.tasks({}));
      for (size_t i = 0; i < x.size(); ++i) {
        const float exact = std::nearbyint(x[i] / c);
        ASSERT_TRUE(std::bit_cast<uint32_t>(exact) == std::bit_cast<uint32_t>(y[i]) ||
                    (std::isnan(exact) && std::isnan(y[i])))
            << target << ": " << x[i] << " / " << c << " is " << y[i] << ", not " << exact;
      }
    }
  }
}

/// kBatch numbers: infinities, NaN, zeros, the neighbours of n + 1/2 steps of `c`, and random bits.
std::vector<float> beside_steps_halfway(float c) {
  std::vector<float> x{INFINITY, -INFINITY, NAN, 0.0F, -0.0F};
  for (int n = -600; n < 600; ++n) {
    float at = (static_cast<float>(n) + 0.5F) * c;
    for (int k = 0; k < 4; ++k) at = std::nextafter(at, -INFINITY);
    for (int k = 0; k < 8; ++k) x.push_back(at = std::nextafter(at, INFINITY));
  }
  while (x.size() < kBatch) x.push_back(std::bit_cast<float>(static_cast<uint32_t>(x.size() * 65537)));
  return x;
}

/// The divisor and the zero are read at run time. Includes divisors for which a product with the reciprocal is not
/// exact.
TEST(Quantized, ByWhatARunReadsIsWhatItsStepsGive) {
  for (const std::string& target : runnable_targets())
    for (const auto& [type, low, high] :
         {std::tuple(DType::i8, -128.0F, 127.0F), std::tuple(DType::u8, 0.0F, 255.0F)}) {
      const Kernel kernel = map_kernel(
          "quantized", {{DType::f32, {kBatch}}, {DType::f32, {}}, {type, {}}, {type, {kBatch}}}, [&](const auto& i) {
            const Expr quotient = binary(BinaryOp::div, load(0, DType::f32, i), load(1, DType::f32, {}));
            const Expr y = unary(UnaryOp::round_even, quotient) + cast(DType::f32, load(2, type, {}));
            const Expr least = constant_float(DType::f32, low);
            return cast(type, select(binary(BinaryOp::greater, y, least), y, least));
          });
      const RunnableKernel code(kernel, target);
      for (const float c : {1.0F, 0.05F, 0.045368254F, 3.7F, 1.9999999F, 0.49999997F, 1e-30F, 1e30F, 1e-42F, -0.5F,
                            0.0F, INFINITY, NAN})
        for (int zero : {0, 3, type == DType::i8 ? -128 : 255}) {
          std::vector<float> x = beside_steps_halfway(c);
          std::vector<uint8_t> y(kBatch);
          float divisor = c;
          auto offset = static_cast<uint8_t>(zero);
          code.call({x.data(), &divisor, &offset, y.data()}, {}, 0, code.tasks({}));
          for (size_t i = 0; i < x.size(); ++i) {
            const float step = std::nearbyint(x[i] / c) + static_cast<float>(zero);
            const float exact = std::min(step > low ? step : low, high);
            const float got =
                type == DType::i8 ? static_cast<float>(static_cast<int8_t>(y[i])) : static_cast<float>(y[i]);
            ASSERT_EQ(got, exact) << target << ": " << x[i] << " / " << c << " + " << zero;
          }
        }
    }
}

/// Numbers of all exponents, and neighbours of their multiples. Most quotients are small, some are beyond 2^52.
template <class T>
std::pair<std::vector<T>, std::vector<T>> dividends_and_divisors() {
  using Limits = std::numeric_limits<T>;
  const std::vector<T> special = {0,
                                  T(-0.0),
                                  1,
                                  -1,
                                  T(0.1),
                                  3,
                                  Limits::min(),
                                  Limits::denorm_min(),
                                  Limits::max(),
                                  -Limits::max(),
                                  Limits::infinity(),
                                  -Limits::infinity(),
                                  Limits::quiet_NaN()};
  std::vector<T> a, b;
  for (const T x : special)
    for (const T y : special) a.push_back(x), b.push_back(y);
  std::mt19937_64 random(7);
  std::uniform_int_distribution<int> exponent(Limits::min_exponent - Limits::digits, Limits::max_exponent - 1),
      gap(-2, 70);
  std::uniform_real_distribution<T> mantissa(1, 2);
  while (a.size() < kBatch) {
    const int e = exponent(random);
    T x = std::ldexp(mantissa(random), e), y = std::ldexp(mantissa(random), e - gap(random));
    if (random() % 3 == 0) x = y * static_cast<T>(random() % 1000);
    if (random() % 3 == 0) x = std::nextafter(x, random() % 2 == 0 ? T(0) : Limits::max());
    a.push_back(random() % 2 == 0 ? x : -x);
    b.push_back(random() % 2 == 0 ? y : -y);
  }
  return {std::move(a), std::move(b)};
}

template <class T>
void expect_exact_remainders(DType dtype) {
  for (const std::string& target : runnable_targets()) {
    const Kernel kernel =
        map_kernel("remainder", {{dtype, {kBatch}}, {dtype, {kBatch}}, {dtype, {kBatch}}},
                   [&](const auto& i) { return binary(BinaryOp::fmod, load(0, dtype, i), load(1, dtype, i)); });
    const RunnableKernel code(kernel, target);
    auto [a, b] = dividends_and_divisors<T>();
    std::vector<T> y(kBatch);
    code.call({a.data(), b.data(), y.data()}, {}, 0, code.tasks({}));
    for (size_t i = 0; i < y.size(); ++i) {
      const T exact = std::fmod(a[i], b[i]);
      const bool same =
          std::isnan(exact) ? std::isnan(y[i]) : y[i] == exact && std::signbit(y[i]) == std::signbit(exact);
      ASSERT_TRUE(same) << target << ": fmod(" << a[i] << ", " << b[i] << ") = " << y[i] << ", not " << exact;
    }
  }
}

TEST(VectorMath, RemaindersAreExact) {
  expect_exact_remainders<float>(DType::f32);
  expect_exact_remainders<double>(DType::f64);
}

/// Inputs near n + 1/2 steps and far beyond the ends of the range, infinities and NaN.
TEST(Quantized, IsWhatItsStepsGive) {
  for (const std::string& target : runnable_targets())
    for (const auto& [type, low, high] : {std::tuple(DType::i8, -128.0F, 127.0F), std::tuple(DType::u8, 0.0F, 255.0F)})
      for (const float zero : {0.0F, 3.0F, type == DType::i8 ? -128.0F : 255.0F})
        for (const float c : {1.0F, 0.05F, 1.0F / 3, 0.045368254F, 3.7F, 1e-6F, 1.9999999F}) {
          const Kernel kernel = map_kernel("quantized", {{DType::f32, {kBatch}}, {type, {kBatch}}}, [&](const auto& i) {
            Expr y = unary(UnaryOp::round_even,
                           binary(BinaryOp::div, load(0, DType::f32, i), constant_float(DType::f32, c)));
            y = y + constant_float(DType::f32, zero);
            const Expr least = constant_float(DType::f32, low);
            return cast(type, select(binary(BinaryOp::greater, y, least), y, least));
          });
          const RunnableKernel code(kernel, target);
          std::vector<float> x = beside_steps_halfway(c);
          std::vector<uint8_t> y(kBatch);
          code.call({x.data(), y.data()}, {}, 0, code.tasks({}));
          for (size_t i = 0; i < x.size(); ++i) {
            const float step = std::nearbyint(x[i] / c) + zero, exact = std::min(step > low ? step : low, high);
            const float got =
                type == DType::i8 ? static_cast<float>(static_cast<int8_t>(y[i])) : static_cast<float>(y[i]);
            ASSERT_EQ(got, exact) << target << ": " << x[i] << " / " << c << " + " << zero;
          }
        }
}

}  // namespace
}  // namespace gcg::test
