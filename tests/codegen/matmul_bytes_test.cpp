// Products of bytes against sums in 64-bit integers, run from compiled code between guard pages.
#include <gtest/gtest.h>

#include "tests/codegen/matmul_runner.h"

namespace gcg::test {
namespace {

constexpr int64_t panel = 48, quad = 4;

/// C[batch, M, N] i32 = A[batch, M, K] u8 * B[K, N] i8; rows of A are K + `gap` bytes apart.
struct Case {
  int64_t batch = 1, m = 1, n = 1, k = 4, gap = 0;
  bool symbolic_m = false;
  bool extreme = false;  // 255 by -128 throughout, where saturating arithmetic fails
  std::string text() const {
    return concat(batch, " x ", m, "x", n, "x", k, symbolic_m ? " m?" : "", extreme ? " extreme" : "");
  }
};

Kernel kernel_of(const Case& c) {
  const Dim m = c.symbolic_m ? Dim::symbol("m") : Dim(c.m), row(c.k + c.gap);
  MatMulKernel body;
  body.batch = {Axis{0, Dim(c.batch)}};
  body.m = Axis{1, m};
  body.n = Axis{2, Dim(c.n)};
  body.k = Axis{3, Dim(c.k)};
  body.a = {0, 0, {m * row}, row, 1};
  body.b = {1, 0, {0}, 0, 0};
  body.packed_columns = panel;
  body.result = 2;
  body.index = {axis_ref(body.batch[0]), axis_ref(body.m), axis_ref(body.n)};
  body.epilogue = accumulator(DType::i32);
  Kernel kernel;
  kernel.name = "quads";
  kernel.operands = {{DType::u8, {Dim(c.batch) * m * row}, false},
                     {DType::i8, {ceil_div(Dim(c.n), panel), c.k / quad, panel, quad}, false},
                     {DType::i32, {c.batch, m, c.n}, true}};
  kernel.body = body;
  return kernel;
}

class Quads : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    if (!can_run(GetParam())) GTEST_SKIP() << "this machine does not run " << GetParam();
  }

  void check(const Case& c) {
    const MappedKernel kernel(kernel_of(c), GetParam());
    for (const int64_t threads : {1, 3}) run(c, kernel, threads);
  }

  void run(const Case& c, const MappedKernel& kernel, int64_t threads) {
    const SymbolValues symbols{{"m", c.m}};
    const int64_t row = c.k + c.gap, panels = (c.n + panel - 1) / panel;
    GuardedBuffer a(c.batch * c.m * row), b(panels * c.k * panel), result(c.batch * c.m * c.n * 4),
        scratch(kernel.info().scratch_bytes.evaluate(symbols));
    auto* left = reinterpret_cast<uint8_t*>(a.floats());
    auto* right = reinterpret_cast<int8_t*>(b.floats());
    auto* sums = reinterpret_cast<int32_t*>(result.floats());
    const auto b_at = [&](int64_t k, int64_t j) -> int8_t& {
      return right[((j / panel * (c.k / quad) + k / quad) * panel + j % panel) * quad + k % quad];
    };
    uint64_t state = 12345;
    const auto next = [&] { return state = state * 6364136223846793005ULL + 1442695040888963407ULL, state >> 40; };
    for (int64_t i = 0; i < c.batch * c.m * row; ++i) left[i] = static_cast<uint8_t>(c.extreme ? 255 : next());
    for (int64_t k = 0; k < c.k; ++k)
      for (int64_t j = 0; j < c.n; ++j) b_at(k, j) = static_cast<int8_t>(c.extreme ? -128 : next());
    const int64_t tasks = kernel.tasks(symbols);
    for (int64_t t = 0; t < threads; ++t)
      ASSERT_EQ(kernel.run({left, right, sums}, kernel.params(symbols), scratch.floats(), tasks * t / threads,
                           tasks * (t + 1) / threads),
                0);
    for (int64_t i = 0; i < c.batch * c.m; ++i) {
      for (int64_t j = 0; j < c.n; ++j) {
        int64_t expected = 0;
        for (int64_t k = 0; k < c.k; ++k) expected += int64_t{left[i * row + k]} * b_at(k, j);
        ASSERT_EQ(sums[i * c.n + j], expected)
            << c.text() << " [" << i << "," << j << "] with " << threads << " threads";
      }
    }
  }
};

INSTANTIATE_TEST_SUITE_P(Targets, Quads, testing::Values("x86-64-v3", "x86-64-v4", "x86-64-v4-vnni", "x86-64-v4-amx"),
                         [](const auto& target) { return target.param.substr(target.param.rfind('-') + 1); });

TEST_P(Quads, EveryHeightAndDepth) {
  for (int64_t m = 1; m <= 20; ++m) check({.m = m, .n = 100, .k = 64});
  for (int64_t k : {0, 4, 8, 28, 32, 36, 300, 2052, 4400}) {
    for (int64_t m : {1, 3, 23}) check({.m = m, .n = 50, .k = k});
  }
}

TEST_P(Quads, EveryWidth) {
  for (int64_t n : {1, 7, 8, 16, 17, 48, 49, 96, 130}) check({.m = 12, .n = n, .k = 40});
}

TEST_P(Quads, ManyRows) { check({.m = 1300, .n = 20, .k = 36, .symbolic_m = true}); }

/// Products large enough for AMX: one tile of rows and two overlapping tiles, a partial last step, a depth in several
/// blocks, and rows that are copied because their stride is large.
TEST_P(Quads, TilesOfEveryHeightWidthAndDepth) {
  for (int64_t m : {5, 6, 11, 15, 16, 17, 18, 31, 32, 33, 34, 63, 64, 65, 97}) check({.m = m, .n = 100, .k = 300});
  for (int64_t n : {7, 16, 17, 33, 48, 49, 130}) check({.m = 37, .n = n, .k = 456});
  for (int64_t k : {64, 384, 388, 2048, 2052}) check({.m = 70, .n = 60, .k = k});
  for (int64_t m : {5, 16, 17, 33, 1300}) check({.m = m, .n = 70, .k = 100, .symbolic_m = true});
  check({.batch = 3, .m = 21, .n = 60, .k = 256, .gap = 64});
}

TEST_P(Quads, BatchesAndRowsApart) { check({.batch = 3, .m = 12, .n = 60, .k = 40, .gap = 3}); }

TEST_P(Quads, SymbolicRows) {
  for (int64_t m : {0, 1, 2, 9, 31, 128}) check({.m = m, .n = 100, .k = 64, .symbolic_m = true});
}

TEST_P(Quads, NothingSaturates) { check({.m = 9, .n = 48, .k = 64, .extreme = true}); }

TEST(QuadsPlan, CompilesForEveryTarget) {
  for (const char* target :
       {"x86-64-v3", "x86-64-v4", "x86-64-v4-vnni", "x86-64-v4-amx", "aarch64", "aarch64-dotprod", "aarch64-i8mm"}) {
    const Kernel kernel = kernel_of({.m = 7, .n = 100, .k = 64, .symbolic_m = true});
    EXPECT_FALSE(cpu::make_cpu_backend()->compile({&kernel}, *find_target(target), 1).code.empty());
  }
}

}  // namespace
}  // namespace gcg::test
