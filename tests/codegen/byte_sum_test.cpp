// Quantised sums of dequantised bytes: their results and their instruction counts.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <tuple>

#include "codegen/cpu/compile_kernel.h"
#include "codegen/cpu/llvm/cpu_target.h"
#include "tests/codegen/inner_loops.h"
#include "tests/codegen/loop_harness.h"
#include "tests/codegen/loop_kernels.h"

namespace gcg::test {
namespace {

/// One operand of the sum. Its scale is relative to the result's scale.
struct Part {
  double scale;
  int zero;
};

Expr dequantized(Expr byte, const Part& part) {
  const Expr steps = cast(DType::i32, std::move(byte)) - constant_int(DType::i32, part.zero);
  return cast(DType::f32, steps) * f32(part.scale);
}

Expr quantized(const Expr& x, DType type, int zero) {
  const Expr y = unary(UnaryOp::round_even, x) + f32(zero), low = f32(type == DType::i8 ? -128 : 0);
  return cast(type, select(binary(BinaryOp::greater, y, low), y, low));
}

Kernel sum_kernel(DType type, const Dim& n, const Part& a, const Part& b, int zero) {
  return map_kernel("sum", {{type, {n}}, {type, {n}}, {type, {n}}}, [&](const auto& i) {
    return quantized(dequantized(load(0, type, i), a) + dequantized(load(1, type, i), b), type, zero);
  });
}

/// The byte with these bits.
int number(DType type, uint8_t bits) { return type == DType::i8 ? static_cast<int8_t>(bits) : bits; }

/// Every pair of bytes. In the first two cases sums are exact in floats, and so are ties. In the other cases a sum near
/// the middle between two steps may round either way.
TEST(ByteSum, IsWithinAStepAtTiesAndExactElsewhere) {
  constexpr int64_t kPairs = 1 << 16;
  constexpr double kClose = 2e-4;
  using Case = std::tuple<Part, Part, int, double>;
  for (const std::string& target : runnable_targets())
    for (const DType type : {DType::i8, DType::u8})
      for (const auto& [a, b, zero, close] :
           {Case{{0.5, 3}, {0.25, 0}, 5, 0}, Case{{1.5, -7}, {1, 120}, -3, 0},
            Case{{1.6451211, 18}, {1.2780920, -3}, type == DType::i8 ? -128 : 255, kClose},
            Case{{0.99999618, -1}, {0.50000131, 128}, 0, kClose}, Case{{1e12, 0}, {-1e12, 0}, 0, 1e8}}) {
        const RunnableKernel code(sum_kernel(type, kPairs, a, b, zero), target);
        std::vector<uint8_t> x(kPairs), y(kPairs), sum(kPairs);
        for (size_t i = 0; i < kPairs; ++i) x[i] = static_cast<uint8_t>(i), y[i] = static_cast<uint8_t>(i >> 8);
        code.call({x.data(), y.data(), sum.data()}, {}, 0, code.tasks({}));
        const double low = type == DType::i8 ? -128 : 0, high = low + 255;
        for (size_t i = 0; i < kPairs; ++i) {
          const double exact = static_cast<float>(a.scale) * double{number(type, x[i]) - 1.0 * a.zero} +
                               static_cast<float>(b.scale) * double{number(type, y[i]) - 1.0 * b.zero};
          const auto step = [&](double s) { return std::clamp(std::nearbyint(s) + zero, low, high); };
          const int got = number(type, sum[i]);
          ASSERT_TRUE(got == step(exact) || got == step(exact - close) || got == step(exact + close))
              << target << ": " << a.scale << " * (" << number(type, x[i]) << " - " << a.zero << ") + " << b.scale
              << " * (" << number(type, y[i]) << " - " << b.zero << ") is " << exact << ", not " << got << " - "
              << zero;
        }
      }
}

/// A bias, a scalar byte, and rows of every length: the vector loop and the row's tail agree.
TEST(ByteSum, OfRowsOfAnyLengthWithABiasAndAScalar) {
  const auto kernel = [](const Dim& n) {
    return map_kernel(
        "sum", {{DType::u8, {3, n}}, {DType::f32, {n}}, {DType::i8, {}}, {DType::i8, {3, n}}}, [](const auto& i) {
          const Expr bias = load(1, DType::f32, {i[1]}), scalar = load(2, DType::i8, {});
          const Expr sum = dequantized(load(0, DType::u8, i), {0.5, 100}) + bias + dequantized(scalar, {0.25, 2});
          return quantized(sum, DType::i8, 7);
        });
  };
  const auto operands_of = [](const Kernel& k, const SymbolValues& symbols) {
    std::vector<Tensor> operands = random_operands(k, symbols, 250);
    for (int64_t i = 0; i < operands[1].elements(); ++i)  // exact in every order
      operands[1].set_double(i, std::nearbyint(operands[1].at_double(i)) / 8);
    operands[2].set_int(0, -77);
    return operands;
  };
  std::vector<LoopInputs> every;
  const Kernel open = kernel(Dim::symbol("n"));
  for (const int64_t n : {1, 15, 16, 17, 31, 32, 33, 63, 64, 65, 127, 129, 200}) {
    const Kernel fixed = kernel(n);
    expect_matches(fixed, operands_of(fixed, {}));
    const SymbolValues symbols{{"n", n}};
    every.push_back({operands_of(open, symbols), symbols});
  }
  expect_matches(open, every);
}

/// Expected instructions per register of bytes: 4 times 2 widened loads, 2 conversions, 2 multiply-adds and 1
/// conversion back; then 3 packs, 2 zero points, 1 shuffle, a store, and the loop's own instructions.
TEST(ByteSumCode, TakesFewInstructions) {
  constexpr int kLoop = 4;
  for (const char* target : {"x86-64-v3", "x86-64-v4"}) {
    const Kernel kernel = sum_kernel(DType::i8, 1 << 14, {1.6451211, 18}, {1.2780920, -3}, -5);
    int packing = 0;
    for (const cpu::InnerLoop& loop :
         cpu::inner_loops(cpu::kernel_assembly(kernel, cpu::cpu_target(*find_target(target))))) {
      if (loop.count({"vpacksswb"}) == 0) continue;
      ++packing;
      EXPECT_LE(loop.instructions.size(), 4U * 7 + 7 + kLoop) << target;
      EXPECT_EQ(loop.count({"vmaxps", "vminps"}), 0) << "bytes are within the ends of i32";
    }
    EXPECT_EQ(packing, 1) << target;
  }
}

/// The kernel must read the scalar before the loop: LLVM assumes that stores of bytes may change it, so it does not
/// hoist the load.
TEST(ByteSumCode, ReadsAScalarBeforeTheRow) {
  const Kernel kernel = map_kernel("scalar", {{DType::u8, {1024}}, {DType::u8, {}}, {DType::u8, {1024}}}, [](auto& i) {
    return quantized(dequantized(load(0, DType::u8, i), {0.3, 4}) + dequantized(load(1, DType::u8, {}), {0.7, 9}),
                     DType::u8, 0);
  });
  for (const cpu::InnerLoop& loop :
       cpu::inner_loops(cpu::kernel_assembly(kernel, cpu::cpu_target(*find_target("x86-64-v4")))))
    EXPECT_EQ(loop.count({"vbroadcast", "movzbl", "vcvtsi2ss"}), 0) << loop.label;
}

}  // namespace
}  // namespace gcg::test
