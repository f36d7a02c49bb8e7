// Errors of the elementary functions of doubles in units in the last place, against the C library in long double: over
// doubles of random bits, and over the ranges where the functions' values change.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <iostream>
#include <limits>
#include <random>

#include "tests/codegen/loop_harness.h"
#include "tests/codegen/loop_kernels.h"

namespace gcg::test {
namespace {

constexpr int64_t kBatch = 1 << 16;
using Reference = long double (*)(long double);

/// |actual - exact| in units of the last place of the double nearest to `exact`.
double ulps(double actual, long double exact) {
  const auto nearest = static_cast<double>(exact);
  if (std::isnan(exact)) return std::isnan(actual) ? 0 : INFINITY;
  if (std::isinf(nearest) || std::isinf(actual)) {
    // Rounding at the edge of the range may go either way.
    const bool edge = std::fabs(exact) > 1.7976931348623155e308L && std::fabs(actual) > 1.7976931348623155e308;
    return nearest == actual || (edge && std::signbit(nearest) == std::signbit(actual)) ? 0 : INFINITY;
  }
  const int exponent = nearest == 0 ? -1074 : std::max(std::ilogb(nearest) - 52, -1074);
  return static_cast<double>(std::fabs(static_cast<long double>(actual) - exact) * std::ldexp(1.0L, -exponent));
}

/// Most of `count` doubles lie within [-most, most], at all scales; the others have random bits.
std::vector<double> arguments(uint64_t seed, double most) {
  std::mt19937_64 random(seed);
  std::vector<double> x(kBatch);
  for (size_t i = 0; i < x.size(); ++i) {
    const double unit = static_cast<double>(random() >> 11) * 0x1p-52 - 1;
    x[i] = i % 4 == 0   ? std::bit_cast<double>(random())
           : i % 4 == 1 ? unit * most
           : i % 4 == 2 ? unit
                        : std::ldexp(unit, -static_cast<int>(random() % 60));
  }
  return x;
}

/// `most`: the function is constant, infinite or zero beyond. The result may be 0 where the exact value is below
/// `least`.
void expect_accuracy(UnaryOp op, double limit, Reference reference, double most, long double least = 0) {
  const Kernel kernel = map_kernel("function", {{DType::f64, {kBatch}}, {DType::f64, {kBatch}}},
                                   [op](const auto& i) { return unary(op, load(0, DType::f64, i)); });
  for (const std::string& target : runnable_targets()) {
    const RunnableKernel code(kernel, target);
    double worst = 0, at = 0;
    std::vector<double> y(kBatch);
    for (uint64_t seed = 0; seed < 16; ++seed) {
      std::vector<double> x = arguments(seed, most);
      code.call({x.data(), y.data()}, {}, 0, code.tasks({}));
      for (size_t i = 0; i < x.size(); ++i) {
        const long double exact = reference(static_cast<long double>(x[i]));
        const double error = std::fabs(exact) < least && y[i] == 0 ? 0 : ulps(y[i], exact);
        if (!(error <= worst)) worst = error, at = x[i];
      }
    }
    std::cout << target << ": largest error " << worst << " ulp at " << at << "\n";
    EXPECT_LE(worst, limit) << target << ": at " << at;
  }
}

TEST(VectorMathF64, Exp) { expect_accuracy(UnaryOp::exp, 1.1, std::exp, 750); }
TEST(VectorMathF64, Log) {
  expect_accuracy(UnaryOp::log, 1.0, [](long double x) { return std::log(x); }, 10);
}
TEST(VectorMathF64, Tanh) { expect_accuracy(UnaryOp::tanh, 3.0, std::tanh, 20); }
TEST(VectorMathF64, Sigmoid) {
  expect_accuracy(UnaryOp::sigmoid, 2.5, [](long double x) { return 1 / (1 + std::exp(-x)); }, 750, 0x1p-1022L);
}
TEST(VectorMathF64, Angles) {
  expect_accuracy(UnaryOp::sin, 2.0, std::sin, 1e6);
  expect_accuracy(UnaryOp::cos, 2.0, std::cos, 1e6);
  expect_accuracy(UnaryOp::tan, 4.0, std::tan, 1e6);
}

/// Neighbours of multiples of pi/2, where the reduced angle cancels.
TEST(VectorMathF64, AnglesNextToMultiplesOfAQuadrant) {
  const Kernel kernel = map_kernel("sine", {{DType::f64, {kBatch}}, {DType::f64, {kBatch}}},
                                   [](const auto& i) { return unary(UnaryOp::sin, load(0, DType::f64, i)); });
  for (const std::string& target : runnable_targets()) {
    const RunnableKernel code(kernel, target);
    std::vector<double> x(kBatch), y(kBatch);
    for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<double>(i * i / 64) * 1.5707963267948966;
    code.call({x.data(), y.data()}, {}, 0, code.tasks({}));
    for (size_t i = 0; i < x.size(); ++i)
      ASSERT_LE(ulps(y[i], std::sin(static_cast<long double>(x[i]))), 2.0) << target << ": at " << x[i];
  }
}

TEST(VectorMathF64, SpecialValues) {
  const std::vector<double> x{
      INFINITY, -INFINITY, NAN, 0.0, -0.0, 5e-324, 1.7976931348623157e308, -1.7976931348623157e308, 709.78, -745.2};
  struct Row {
    UnaryOp op;
    Reference reference;
  };
  const Row rows[] = {{UnaryOp::exp, std::exp},
                      {UnaryOp::log, std::log},
                      {UnaryOp::tanh, std::tanh},
                      {UnaryOp::sin, std::sin},
                      {UnaryOp::cos, std::cos}};
  for (const Row& row : rows)
    for (const std::string& target : runnable_targets()) {
      const Kernel kernel = map_kernel("special", {{DType::f64, {10}}, {DType::f64, {10}}},
                                       [&](const auto& i) { return unary(row.op, load(0, DType::f64, i)); });
      std::vector<Tensor> operands{Tensor::from(DType::f64, {10}, x), Tensor(DType::f64, {10})};
      RunnableKernel(kernel, target).run(operands, {}, false);
      for (size_t i = 0; i < x.size(); ++i) {
        const double got = operands[1].as<double>()[i];
        const long double exact = row.reference(static_cast<long double>(x[i]));
        EXPECT_LE(ulps(got, exact), 1.0) << target << ", operator " << static_cast<int>(row.op) << " at " << x[i];
        if (x[i] == 0 && exact == 0) {
          EXPECT_EQ(std::signbit(got), std::signbit(x[i])) << "at " << x[i];
        }
      }
    }
}

}  // namespace
}  // namespace gcg::test
