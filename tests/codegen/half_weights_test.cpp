// Constant factors in f16 and bf16, which kernels widen or multiply as pairs of bf16, compared with sums in
// double.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "compiler/ir/tensor.h"
#include "tests/codegen/conv_harness.h"
#include "tests/codegen/matmul_runner.h"

namespace gcg::test {
namespace {

constexpr int64_t panel = 48;

/// C[M, N] = A[M, K] * B[K, N], B packed in 16 bits.
struct Case {
  DType type = DType::f16;
  int64_t m = 1, n = 48, k = 64;
  bool symbolic_m = false;
};

Kernel kernel_of(const Case& c) {
  const Dim m = c.symbolic_m ? Dim::symbol("m") : Dim(c.m);
  MatMulKernel body;
  body.m = Axis{1, m};
  body.n = Axis{2, Dim(c.n)};
  body.k = Axis{3, Dim(c.k)};
  body.a = {0, 0, {}, c.k, 1};
  body.b = {1, 0, {}, 0, 0};
  body.packed_columns = panel;
  body.result = 2;
  body.index = {axis_ref(body.m), axis_ref(body.n)};
  body.epilogue = accumulator(DType::f32);
  Kernel kernel;
  kernel.name = "half";
  kernel.operands = {{DType::f32, {m, c.k}, false},
                     {c.type, {ceil_div(Dim(c.n), panel), c.k, panel}, false},
                     {DType::f32, {m, c.n}, true}};
  kernel.body = body;
  return kernel;
}

class HalfWeights : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    if (!can_run(GetParam())) GTEST_SKIP() << "this machine does not run " << GetParam();
  }

  void product(const Case& c) {
    const MappedKernel kernel(kernel_of(c), GetParam());
    EXPECT_NE(kernel.info().note.find(name_of(c.type)), std::string::npos) << kernel.info().note;
    const SymbolValues symbols{{"m", c.m}};
    const int64_t panels = (c.n + panel - 1) / panel;
    GuardedBuffer a(c.m * c.k * 4), b(panels * c.k * panel * 2), result(c.m * c.n * 4),
        scratch(kernel.info().scratch_bytes.evaluate(symbols));
    auto* bits = reinterpret_cast<uint16_t*>(b.floats());
    uint64_t state = 7;
    const auto next = [&] {
      state = state * 6364136223846793005ULL + 1442695040888963407ULL;
      return static_cast<float>(static_cast<int64_t>(state >> 40) % 2001 - 1000) / 500;
    };
    std::vector<float> right(static_cast<size_t>(panels * c.k * panel));
    for (size_t i = 0; i < right.size(); ++i) {
      const float x = next();
      bits[i] = c.type == DType::f16 ? float_to_f16(x) : float_to_bf16(x);
      right[i] = c.type == DType::f16 ? f16_to_float(bits[i]) : bf16_to_float(bits[i]);
    }
    // All numbers here are exact in bf16, so pairs are multiplied exactly.
    for (int64_t i = 0; i < c.m * c.k; ++i) a.floats()[i] = bf16_to_float(float_to_bf16(next()));
    const int64_t tasks = kernel.tasks(symbols);
    for (int64_t t = 0; t < 3; ++t)
      ASSERT_EQ(kernel.run({a.floats(), bits, result.floats()}, kernel.params(symbols), scratch.floats(), tasks * t / 3,
                           tasks * (t + 1) / 3),
                0);
    for (int64_t i = 0; i < c.m * c.n; ++i) {
      double expected = 0;
      for (int64_t k = 0; k < c.k; ++k)
        expected += double{a.floats()[i / c.n * c.k + k]} *
                    right[static_cast<size_t>((i % c.n / panel * c.k + k) * panel + i % c.n % panel)];
      ASSERT_NEAR(result.floats()[i], expected, 2e-5 * std::max(1.0, static_cast<double>(c.k) / 50))
          << c.m << "x" << c.n << "x" << c.k << " of " << name_of(c.type) << " at " << i;
    }
  }

  void conv(cpu::ConvCase c) {
    for (const DType type : {DType::f16, DType::bf16}) {
      c.weights = type;
      const cpu::CompiledConv compiled(c, GetParam());
      cpu::ConvData data(c);
      compiled.run(data);
      const auto depth = static_cast<double>(c.in_channels / c.groups * c.kernel_h * c.kernel_w);
      const bool pairs = compiled.info().note.find("pairs") != std::string::npos;  // rounds both factors
      EXPECT_LT(cpu::conv_error(c, data), 2e-5 * std::max(1.0, depth / 800) + (pairs ? 0x1p-9 * std::sqrt(depth) : 0))
          << c.text() << " of " << name_of(type);
    }
  }
};

INSTANTIATE_TEST_SUITE_P(Targets, HalfWeights,
                         testing::Values("x86-64-v3", "x86-64-v4", "x86-64-v4-bf16", "x86-64-v4-amx"),
                         [](const auto& target) { return target.param.substr(target.param.rfind('-') + 1); });

/// For few rows, the kernel widens weights in registers; for many rows, it widens a block of the panel at a time.
TEST_P(HalfWeights, ProductsOfEveryHeight) {
  for (const DType type : {DType::f16, DType::bf16}) {
    for (int64_t m = 1; m <= 12; ++m) product({.type = type, .m = m, .n = 100});
    for (const int64_t m : {7, 40, 170})
      for (const int64_t k : {1, 37, 1200}) product({.type = type, .m = m, .n = 70, .k = k});
    for (const int64_t m : {1, 5, 30, 90}) product({.type = type, .m = m, .n = 96, .k = 1100, .symbolic_m = true});
  }
}

/// The rows form more than one block, because there are many rows or because the depth is large.
TEST_P(HalfWeights, ProductsOfManyRows) {
  product({.type = DType::bf16, .m = 1300, .n = 20, .k = 32});
  product({.type = DType::bf16, .m = 230, .n = 50, .k = 4096, .symbolic_m = true});
}

TEST_P(HalfWeights, Convolutions) {
  for (const int64_t map : {1, 15})
    for (const int64_t kernel : {1, 3}) conv(cpu::conv_case(24, map, 40, kernel, 1, kernel / 2));
  conv(cpu::conv_case(320, 9, 40, 3, 2, 1));
  cpu::ConvCase c = cpu::conv_case(3, 20, 24, 7, 2, 3);
  c.plain = true;
  conv(c);
  for (const int64_t groups : {4, 48}) {  // groups in separate lanes, then depthwise
    c = cpu::conv_case(48, 11, 48, 3, 1, 1);
    c.groups = groups;
    conv(c);
  }
  c.symbolic_width = c.symbolic_height = true;
  conv(c);
}

/// Pairs are used only where VDPBF16PS exists, for bf16 and even depths.
TEST(HalfPairs, AreMultipliedAsPairsWhereTheCpuDoes) {
  const auto note = [](const Case& c, const char* target) {
    const Kernel kernel = kernel_of(c);
    return cpu::make_cpu_backend()->compile({&kernel}, *find_target(target), 1).kernels.front().note;
  };
  EXPECT_NE(note({.type = DType::bf16, .m = 30}, "x86-64-v4-bf16").find("pairs"), std::string::npos);
  for (const Case& c : {Case{.type = DType::f16, .m = 30}, Case{.type = DType::bf16, .m = 30, .k = 63}})
    EXPECT_EQ(note(c, "x86-64-v4-bf16").find("pairs"), std::string::npos) << "f16, and depths that are no whole pairs";
  EXPECT_EQ(note({.type = DType::bf16, .m = 30}, "x86-64-v4-vnni").find("pairs"), std::string::npos);
}

/// Why f16 sums are kept in f32 (docs/design.md): with AVX512-FP16 multiply-adds, errors are more than ten times as
/// large.
TEST(HalfSums, AreLessExactThanWhatIsStored) {
  constexpr int64_t depth = 768, results = 256;
  uint64_t state = 3;
  const auto next = [&] {  // approximately normal, with standard deviation 1
    double sum = 0;
    for (int i = 0; i < 12; ++i) {
      state = state * 6364136223846793005ULL + 1442695040888963407ULL;
      sum += static_cast<double>(state >> 40) / (1 << 24) - 0.5;
    }
    return sum;
  };
  const auto rounded = [](double x) { return double{f16_to_float(float_to_f16(static_cast<float>(x)))}; };
  double largest = 0, error_of_halves = 0, error_of_floats = 0;
  for (int64_t r = 0; r < results; ++r) {
    double exact = 0, half = 0;
    float sum = 0;
    for (int64_t k = 0; k < depth; ++k) {
      const double a = rounded(next()), b = rounded(next() / std::sqrt(depth));
      exact += a * b;
      half = rounded(half + a * b);
      sum += static_cast<float>(a * b);
    }
    largest = std::max(largest, std::abs(exact));
    error_of_halves = std::max(error_of_halves, std::abs(half - exact));
    error_of_floats = std::max(error_of_floats, std::abs(rounded(sum) - exact));
  }
  EXPECT_GT(error_of_halves, 3e-3 * largest);
  EXPECT_LT(error_of_floats, 4e-4 * largest);
}

}  // namespace
}  // namespace gcg::test
