// Products of doubles against sums in 64-bit integers, run from compiled code between guard pages. The elements are
// integers so small that every sum is exact in a double, and too large for a float.
#include <gtest/gtest.h>

#include "tests/codegen/matmul_runner.h"

namespace gcg::test {
namespace {

enum class Columns { adjacent, apart, transposed };

/// C[batch, M, N] = 2 (A[batch, M, K] * B), B[K, N] stored as its columns say.
struct Case {
  int64_t batch = 1, m = 1, n = 1, k = 1;
  Columns columns = Columns::adjacent;
  bool open = false;  // all extents are symbols
  std::string text() const {
    return concat(batch, " x ", m, "x", n, "x", k, " columns ", static_cast<int>(columns), open ? " open" : "");
  }
  int64_t b_at(int64_t row, int64_t column) const {
    if (columns == Columns::transposed) return column * k + row;
    return columns == Columns::apart ? (row * n + column) * 2 : row * n + column;
  }
  int64_t b_size() const { return k * n * (columns == Columns::apart ? 2 : 1); }
};

Kernel kernel_of(const Case& c) {
  const auto dim = [&](const char* name, int64_t value) { return c.open ? Dim::symbol(name) : Dim(value); };
  const Dim batch = dim("batch", c.batch), m = dim("m", c.m), n = dim("n", c.n), k = dim("k", c.k);
  MatMulKernel body;
  body.batch = {Axis{0, batch}};
  body.m = Axis{1, m};
  body.n = Axis{2, n};
  body.k = Axis{3, k};
  body.a = {0, 0, {m * k}, k, 1};
  body.b = c.columns == Columns::transposed ? MatrixView{1, 0, {0}, 1, k}
           : c.columns == Columns::apart    ? MatrixView{1, 0, {0}, 2 * n, 2}
                                            : MatrixView{1, 0, {0}, n, 1};
  body.result = 2;
  body.index = {axis_ref(body.batch[0]), axis_ref(body.m), axis_ref(body.n)};
  body.epilogue = accumulator(DType::f64) * constant_float(DType::f64, 2);
  Kernel kernel;
  kernel.name = "doubles";
  kernel.operands = {{DType::f64, {batch * m * k}, false},
                     {DType::f64, {k * n * (c.columns == Columns::apart ? 2 : 1)}, false},
                     {DType::f64, {batch, m, n}, true}};
  kernel.body = body;
  return kernel;
}

class Doubles : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    if (!can_run(GetParam())) GTEST_SKIP() << "this machine does not run " << GetParam();
  }

  void check(const Case& c) { run(c, MappedKernel(kernel_of(c), GetParam())); }

  void run(const Case& c, const MappedKernel& kernel) {
    const SymbolValues symbols{{"batch", c.batch}, {"m", c.m}, {"n", c.n}, {"k", c.k}};
    GuardedBuffer a(c.batch * c.m * c.k * 8), b(c.b_size() * 8), result(c.batch * c.m * c.n * 8),
        scratch(kernel.info().scratch_bytes.evaluate(symbols));
    auto* left = reinterpret_cast<double*>(a.floats());
    auto* right = reinterpret_cast<double*>(b.floats());
    auto* sums = reinterpret_cast<double*>(result.floats());
    uint64_t state = 12345;
    const auto next = [&] {
      state = state * 6364136223846793005ULL + 1442695040888963407ULL;
      return static_cast<double>(static_cast<int64_t>(state >> 43)) - 0x1p20;
    };
    for (int64_t i = 0; i < c.batch * c.m * c.k; ++i) left[i] = next();
    for (int64_t i = 0; i < c.b_size(); ++i) right[i] = next();
    for (const int64_t threads : {1, 3}) {
      const int64_t tasks = kernel.tasks(symbols);
      for (int64_t t = 0; t < threads; ++t)
        ASSERT_EQ(kernel.run({left, right, sums}, kernel.params(symbols), scratch.floats(), tasks * t / threads,
                             tasks * (t + 1) / threads),
                  0);
      for (int64_t i = 0; i < c.batch * c.m; ++i)
        for (int64_t j = 0; j < c.n; ++j) {
          int64_t expected = 0;
          for (int64_t k = 0; k < c.k; ++k)
            expected += static_cast<int64_t>(left[i * c.k + k]) * static_cast<int64_t>(right[c.b_at(k, j)]);
          ASSERT_EQ(sums[i * c.n + j], static_cast<double>(2 * expected)) << c.text() << " [" << i << "," << j << "]";
        }
    }
  }
};

INSTANTIATE_TEST_SUITE_P(Targets, Doubles, testing::Values("x86-64-v3", "x86-64-v4"),
                         [](const auto& target) { return target.param.substr(7); });

TEST_P(Doubles, EveryHeight) {
  for (int64_t m = 1; m <= 20; ++m) check({.m = m, .n = 50, .k = 17});
  for (const Columns columns : {Columns::adjacent, Columns::apart, Columns::transposed})
    for (int64_t m : {1, 2, 9, 47, 100}) check({.m = m, .n = 50, .k = 19, .columns = columns});
}

TEST_P(Doubles, EveryWidthAndDepth) {
  for (int64_t n : {1, 3, 4, 5, 8, 9, 24, 47, 48, 49, 100}) check({.m = 11, .n = n, .k = 20});
  for (int64_t k : {0, 1, 2, 3, 8, 64, 300})
    for (int64_t m : {1, 2, 3, 60}) check({.m = m, .n = 50, .k = k});
}

TEST_P(Doubles, OpenExtents) {
  for (const Columns columns : {Columns::adjacent, Columns::apart, Columns::transposed}) {
    const MappedKernel kernel(kernel_of({.columns = columns, .open = true}), GetParam());
    for (int64_t m : {0, 1, 2, 8, 9, 33, 70})
      for (int64_t n : {1, 5, 48, 100}) run({.batch = 2, .m = m, .n = n, .k = 13, .columns = columns}, kernel);
  }
}

TEST(DoublesPlan, CompilesForEveryTarget) {
  for (const char* target : {"x86-64-v3", "x86-64-v4", "x86-64-v4-amx", "aarch64"}) {
    const Kernel kernel = kernel_of({.m = 7, .n = 100, .k = 64, .open = true});
    const CompiledBlob blob = cpu::make_cpu_backend()->compile({&kernel}, *find_target(target), 1);
    EXPECT_NE(blob.kernels.front().note.find("f64"), std::string::npos) << blob.kernels.front().note;
  }
}

}  // namespace
}  // namespace gcg::test
