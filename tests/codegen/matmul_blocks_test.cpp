// Products by low-bit integers with a scale per block, against sums in double, run from compiled code between guard
// pages.
#include <gtest/gtest.h>

#include <cmath>

#include "tests/codegen/matmul_runner.h"

namespace gcg::test {
namespace {

constexpr int64_t panel = 48;

/// C[batch, M, N] = A[batch, M, K] * B[K, N], f32; elements of a row of A are `step` apart.
struct Case {
  int64_t batch = 1, m = 1, n = 1;
  BlockPacking b;
  bool symbolic_m = false;
  int64_t step = 1;
  float massive = 1;  // multiplies some elements of A; every second column has weights 0 for these
  std::string text() const {
    return concat(batch, " x ", m, "x", n, "x", b.rows, ", ", b.bits, " bits by ", b.block, b.offsets ? " offsets" : "",
                  b.exact ? " exact" : "", symbolic_m ? " m?" : "", " step ", step);
  }
};

Kernel kernel_of(const Case& c) {
  const Dim m = c.symbolic_m ? Dim::symbol("m") : Dim(c.m), row(c.b.rows * c.step);
  const int64_t panels = (c.n + panel - 1) / panel;
  MatMulKernel body;
  if (c.batch > 1) body.batch = {Axis{0, Dim(c.batch)}};
  body.m = Axis{1, m};
  body.n = Axis{2, Dim(c.n)};
  body.k = Axis{3, Dim(c.b.rows)};
  body.a = {0, 0, {}, row, c.step};
  body.b = {1, 0, {}, 0, 0};
  if (c.batch > 1) body.a.batch_strides = {m * row}, body.b.batch_strides = {0};
  body.packed_columns = panel;
  body.blocks = c.b;
  body.scales = 2;
  if (c.b.offsets) body.offsets = 3;
  body.result = c.b.offsets ? 4 : 3;
  body.index = {axis_ref(body.m), axis_ref(body.n)};
  if (c.batch > 1) body.index.insert(body.index.begin(), axis_ref(body.batch[0]));
  body.epilogue = accumulator(DType::f32);
  Kernel kernel;
  kernel.name = "blocks";
  kernel.operands = {{DType::f32, {Dim(c.batch) * m * row}, false},
                     {DType::i32, {panels, c.b.words(), panel}, false},
                     {DType::f32, {panels, c.b.blocks(), panel}, false}};
  if (c.b.offsets) kernel.operands.push_back({DType::f32, {panels, c.b.blocks(), panel}, false});
  kernel.operands.push_back({DType::f32, c.batch > 1 ? Shape{c.batch, m, c.n} : Shape{m, c.n}, true});
  kernel.body = body;
  return kernel;
}

class Blocks : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    if (!can_run(GetParam())) GTEST_SKIP() << "this machine does not run " << GetParam();
  }

  void check(const Case& c) {
    const MappedKernel kernel(kernel_of(c), GetParam());
    for (const int64_t threads : {1, 3}) run(c, kernel, threads);
  }

  void check_not_finite(const Case& c);
  static void make_massive(const Case& c, float* a, uint32_t* words, const float* scales, float* offsets);

  void run(const Case& c, const MappedKernel& kernel, int64_t threads) {
    const SymbolValues symbols{{"m", c.m}};
    const int64_t panels = (c.n + panel - 1) / panel, row = c.b.rows * c.step;
    GuardedBuffer a(c.batch * c.m * row * 4), words(panels * c.b.words() * panel * 4),
        scales(panels * c.b.blocks() * panel * 4), offsets(panels * c.b.blocks() * panel * 4),
        result(c.batch * c.m * c.n * 4), scratch(kernel.info().scratch_bytes.evaluate(symbols));
    uint64_t state = 12345;
    const auto next = [&] { return state = state * 6364136223846793005ULL + 1442695040888963407ULL, state >> 32; };
    const auto real = [&] { return static_cast<float>(next() % 2000) / 1000 - 1; };
    auto* bits = reinterpret_cast<uint32_t*>(words.floats());
    for (int64_t i = 0; i < c.batch * c.m * row; ++i) a.floats()[i] = real();
    for (int64_t i = 0; i < panels * c.b.words() * panel; ++i) bits[i] = static_cast<uint32_t>(next());
    for (int64_t i = 0; i < panels * c.b.blocks() * panel; ++i) scales.floats()[i] = real();
    for (int64_t i = 0; i < panels * c.b.blocks() * panel; ++i) offsets.floats()[i] = real();
    if (c.massive != 1) make_massive(c, a.floats(), bits, scales.floats(), offsets.floats());
    const auto weight = [&](int64_t k, int64_t j) {
      const int64_t place = (j / panel * c.b.words() + k / c.b.per_word()) * panel + j % panel;
      const int64_t of_block = (j / panel * c.b.blocks() + k / c.b.block) * panel + j % panel;
      const uint32_t q = bits[place] >> (k % c.b.per_word() * c.b.bits) & ((uint32_t{1} << c.b.bits) - 1);
      const int sign = 1 << (c.b.bits - 1);
      const double scaled = double{scales.floats()[of_block]} * ((static_cast<int>(q) ^ sign) - sign);
      return c.b.offsets ? scaled - offsets.floats()[of_block] : scaled;
    };
    std::vector<void*> buffers = {a.floats(), bits, scales.floats()};
    if (c.b.offsets) buffers.push_back(offsets.floats());
    buffers.push_back(result.floats());
    const int64_t tasks = kernel.tasks(symbols);
    for (int64_t t = 0; t < threads; ++t)
      ASSERT_EQ(
          kernel.run(buffers, kernel.params(symbols), scratch.floats(), tasks * t / threads, tasks * (t + 1) / threads),
          0);
    for (int64_t i = 0; i < c.batch * c.m; ++i) {
      for (int64_t j = 0; j < c.n; ++j) {
        double expected = 0, size = 0, weights = 0;
        for (int64_t k = 0; k < c.b.rows; ++k) {
          const double product = a.floats()[i * row + k * c.step] * weight(k, j);
          expected += product;
          size += std::abs(product);
          weights += std::abs(weight(k, j));
        }
        // Elements of A are at most 1. Rounding them to integers costs up to 2^-16; the errors differ in sign.
        const double lost = GetParam() == "x86-64-v4-vnni" && !c.b.exact ? 1e-5 * weights : 0;
        // With massive elements, a float sum of many rows has an error of 1.2e-6 of the largest element.
        const double share = c.massive == 1 ? 1e-6 : 2e-6;
        ASSERT_NEAR(result.floats()[i * c.n + j], expected, share * size + lost + 1e-6)
            << c.text() << " [" << i << "," << j << "] with " << threads << " threads";
      }
    }
  }
};

constexpr int64_t kMassive[] = {5, 38, 39, 170};

/// Makes the elements of A in these rows of B massive, and their weights 0 in every second column.
void Blocks::make_massive(const Case& c, float* a, uint32_t* words, const float* scales, float* offsets) {
  for (int64_t i = 0; i < c.m; ++i)
    for (int64_t k : kMassive) a[i * c.b.rows + k] *= c.massive;
  for (int64_t j = 0; j < c.n; j += 2)
    for (int64_t k : kMassive) {
      const int64_t of_block = (j / panel * c.b.blocks() + k / c.b.block) * panel + j % panel;
      const int zero = c.b.offsets ? 1 : 0;
      uint32_t& word = words[(j / panel * c.b.words() + k / c.b.per_word()) * panel + j % panel];
      const auto shift = static_cast<uint32_t>(k % c.b.per_word() * c.b.bits);
      word = (word & ~(((uint32_t{1} << c.b.bits) - 1) << shift)) | static_cast<uint32_t>(zero) << shift;
      offsets[of_block] = scales[of_block] * static_cast<float>(zero);
    }
}

INSTANTIATE_TEST_SUITE_P(Targets, Blocks, testing::Values("x86-64-v3", "x86-64-v4", "x86-64-v4-vnni"),
                         [](const auto& target) { return target.param.substr(target.param.rfind('-') + 1); });

TEST_P(Blocks, EveryNumberOfRows) {
  for (int64_t m = 1; m <= 20; ++m) check({.m = m, .n = 100, .b = {.rows = 64, .bits = 4, .block = 32}});
  for (int64_t m : {0, 1, 3, 4, 5, 9, 10, 40, 300})
    check({.m = m, .n = 50, .b = {.rows = 96, .bits = 4, .block = 32, .offsets = true}, .symbolic_m = true});
}

TEST_P(Blocks, EveryKindOfBlock) {
  for (int64_t bits : {2, 4, 8})
    for (bool offsets : {false, true})
      for (int64_t m : {1, 2, 7}) {
        for (int64_t block : {16, 32, 128}) check({.m = m, .n = 60, .b = {256, bits, block, offsets}});
        check({.m = m, .n = 60, .b = {250, bits, 64, offsets}});   // the last block and the last word are not full
        check({.m = m, .n = 60, .b = {1000, bits, 32, offsets}});  // deeper than one unpacked block
        check({.m = m, .n = 60, .b = {333, bits, 333, offsets}});  // one scale per column
      }
}

TEST_P(Blocks, KeepTheDigitsOfFloatsIfExact) {
  for (int64_t bits : {2, 4, 8})
    for (bool offsets : {false, true})
      for (int64_t m : {1, 2, 9, 17}) {
        for (int64_t block : {16, 32, 128})
          check({.m = m, .n = 60, .b = {256, bits, block, offsets, true}, .massive = 1000});
        check({.m = m, .n = 60, .b = {250, bits, 64, offsets, true}, .massive = 1000});
        check({.m = m, .n = 60, .b = {333, bits, 333, offsets, true}, .massive = 1000});
        check({.m = m, .n = 60, .b = {333, bits, 333, offsets, true}, .massive = 1e-3F});
      }
}

TEST_P(Blocks, EveryWidthOfManyEntries) {
  for (int64_t n : {1, 7, 8, 16, 17, 48, 49, 96, 130})
    for (int64_t m : {1, 4, 12})
      for (int64_t batch : {1, 3}) check({.batch = batch, .m = m, .n = n, .b = {.rows = 64, .bits = 4, .block = 16}});
}

TEST_P(Blocks, RowsWhoseElementsLieApart) {
  for (int64_t m : {1, 3, 6}) check({.m = m, .n = 50, .b = {.rows = 72, .bits = 4, .block = 72}, .step = 3});
}

TEST_P(Blocks, WhatIsNotFiniteStaysSo) {
  for (const bool exact : {false, true}) check_not_finite({.n = 50, .b = {64, 4, 32, false, exact}});
}

void Blocks::check_not_finite(const Case& c) {
  const MappedKernel kernel(kernel_of(c), GetParam());
  constexpr int64_t word = 4, rows = 64, words_of_panels = panel * 2 * 8, scales_of_panels = panel * 2 * 2;
  GuardedBuffer a(rows * word), words(words_of_panels * word), scales(scales_of_panels * word), result(c.n * word),
      scratch(kernel.info().scratch_bytes.evaluate({}));
  std::fill_n(a.floats(), rows, 1.0F);
  std::fill_n(scales.floats(), scales_of_panels, 1.0F);
  std::memset(words.floats(), 0x11, words_of_panels * word);  // ones
  for (const float bad : {INFINITY, NAN}) {
    a.floats()[40] = bad;
    ASSERT_EQ(kernel.run({a.floats(), words.floats(), scales.floats(), result.floats()}, {}, scratch.floats(), 0,
                         kernel.tasks({})),
              0);
    for (int i = 0; i < 50; ++i) EXPECT_FALSE(std::isfinite(result.floats()[i]));
  }
}

}  // namespace
}  // namespace gcg::test
