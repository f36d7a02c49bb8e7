// Matrix products of many shapes, views and epilogues against sums in double, run from compiled code.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/codegen/matmul_runner.h"

namespace gcg::test {
namespace {

enum class Epilogue { none, bias_residual_gelu };

/// One product. Operands: A [batch, M, K], B, bias [N], residual [batch, M, N], C [batch, M, N].
struct Case {
  int64_t batch = 1, m = 1, n = 1, k = 1;
  bool packed = false;
  bool a_transposed = false;  // A stored [K, M]
  bool b_transposed = false;  // B stored [N, K]
  bool b_spread = false;      // neither stride of B is 1: stored [K, 2N], every second column
  bool b_shared = false;      // one B for the whole batch
  bool c_transposed = false;  // C stored [N, M]
  bool symbolic_m = false, symbolic_n = false, symbolic_k = false, symbolic_batch = false;
  Epilogue epilogue = Epilogue::none;

  std::string text() const {
    return concat(batch, " x ", m, "x", n, "x", k, packed ? " packed" : "", a_transposed ? " A^T" : "",
                  b_transposed ? " B^T" : "", b_spread ? " spread" : "", b_shared ? " shared" : "",
                  c_transposed ? " C^T" : "", symbolic_m ? " m?" : "", symbolic_n ? " n?" : "", symbolic_k ? " k?" : "",
                  symbolic_batch ? " batch?" : "", epilogue == Epilogue::none ? "" : " gelu");
  }
};

constexpr int64_t panel = 48;
constexpr int A = 0, B = 1, bias = 2, residual = 3, C = 4;

Dim dim(bool symbolic, const char* name, int64_t value) { return symbolic ? Dim::symbol(name) : Dim(value); }

/// The kernel of a case, with symbols for its symbolic extents.
class Description {
 public:
  explicit Description(const Case& c)
      : batch(dim(c.symbolic_batch, "batch", c.batch)),
        m(dim(c.symbolic_m, "m", c.m)),
        n(dim(c.symbolic_n, "n", c.n)),
        k(dim(c.symbolic_k, "k", c.k)),
        symbols{{"batch", c.batch}, {"m", c.m}, {"n", c.n}, {"k", c.k}} {
    MatMulKernel body;
    body.batch = {Axis{0, batch}};
    body.m = Axis{1, m};
    body.n = Axis{2, n};
    body.k = Axis{3, k};
    body.a = c.a_transposed ? MatrixView{A, 0, {m * k}, 1, m} : MatrixView{A, 0, {m * k}, k, 1};
    b_floats =
        c.packed ? ceil_div(n, panel) * k * panel : (c.b_spread ? 2 * n * k : n * k) * (c.b_shared ? Dim(1) : batch);
    if (c.packed) {
      body.packed_columns = panel;
      body.b = MatrixView{B, 0, {0}, 0, 0};
    } else {
      const Dim entry = c.b_shared ? Dim(0) : c.b_spread ? 2 * n * k : n * k;
      body.b = c.b_transposed ? MatrixView{B, 0, {entry}, 1, k}
               : c.b_spread   ? MatrixView{B, 0, {entry}, 2 * n, 2}
                              : MatrixView{B, 0, {entry}, n, 1};
    }
    body.result = C;
    const Expr be = axis_ref(body.batch[0]), me = axis_ref(body.m), ne = axis_ref(body.n);
    body.index = c.c_transposed ? std::vector<Expr>{be, ne, me} : std::vector<Expr>{be, me, ne};
    body.epilogue = accumulator(DType::f32);
    if (c.epilogue == Epilogue::bias_residual_gelu) {
      const Expr x = body.epilogue + load(bias, DType::f32, {ne});
      const Expr half = constant_float(DType::f32, 0.5), one = constant_float(DType::f32, 1);
      const Expr erf = unary(UnaryOp::erf, x * constant_float(DType::f32, std::sqrt(0.5)));
      body.epilogue = x * half * (erf + one) + load(residual, DType::f32, {be, me, ne});
    }
    kernel.name = "matmul";
    kernel.operands = {{DType::f32, {batch * m * k}, false},
                       {DType::f32, {b_floats}, false},
                       {DType::f32, {n}, false},
                       {DType::f32, {batch, m, n}, false},
                       {DType::f32, c.c_transposed ? Shape{batch, n, m} : Shape{batch, m, n}, true}};
    kernel.body = body;
  }

  Dim batch, m, n, k;
  SymbolValues symbols;
  Dim b_floats;
  Kernel kernel;
};

/// Operand contents and the expected result of a case.
class Data {
 public:
  Data(const Case& c, const Description& d)
      : case_(c),
        a(c.batch * c.m * c.k * 4),
        b(d.b_floats.evaluate(d.symbols) * 4),
        bias_(c.n * 4),
        residual_(c.batch * c.m * c.n * 4),
        result(c.batch * c.m * c.n * 4) {
    fill(a, c.batch * c.m * c.k);
    fill(b, d.b_floats.evaluate(d.symbols));
    fill(bias_, c.n);
    fill(residual_, c.batch * c.m * c.n);
    for (int64_t i = 0; i < c.batch * c.m * c.n; ++i) result.floats()[i] = std::numeric_limits<float>::quiet_NaN();
  }

  std::vector<void*> buffers() { return {a.floats(), b.floats(), bias_.floats(), residual_.floats(), result.floats()}; }

  double a_at(int64_t e, int64_t i, int64_t k) {
    return a.floats()[e * case_.m * case_.k + (case_.a_transposed ? k * case_.m + i : i * case_.k + k)];
  }
  double b_at(int64_t e, int64_t k, int64_t j) {
    const Case& c = case_;
    if (c.packed) return b.floats()[(j / panel * c.k + k) * panel + j % panel];
    if (c.b_shared) e = 0;
    if (c.b_spread) return b.floats()[e * 2 * c.n * c.k + k * 2 * c.n + 2 * j];
    return b.floats()[e * c.n * c.k + (c.b_transposed ? j * c.k + k : k * c.n + j)];
  }
  double expected(int64_t e, int64_t i, int64_t j) {
    double sum = 0;
    for (int64_t k = 0; k < case_.k; ++k) sum += a_at(e, i, k) * b_at(e, k, j);
    if (case_.epilogue == Epilogue::none) return sum;
    const double x = sum + bias_.floats()[j];
    return 0.5 * x * (1 + std::erf(x * std::sqrt(0.5))) + residual_.floats()[(e * case_.m + i) * case_.n + j];
  }
  float actual(int64_t e, int64_t i, int64_t j) {
    const Case& c = case_;
    return result.floats()[c.c_transposed ? (e * c.n + j) * c.m + i : (e * c.m + i) * c.n + j];
  }

 private:
  void fill(GuardedBuffer& buffer, int64_t count) {
    for (int64_t i = 0; i < count; ++i) {
      state_ = state_ * 6364136223846793005ULL + 1442695040888963407ULL;
      buffer.floats()[i] = static_cast<float>(static_cast<double>(state_ >> 40) / (1 << 24) - 0.5);
    }
  }

  Case case_;
  uint64_t state_ = 12345;

 public:
  GuardedBuffer a, b, bias_, residual_, result;
};

/// Runs the tasks as `threads` threads would, one after another, and compares every element.
void run_and_compare(const Case& c, const MappedKernel& kernel, const Description& d, int64_t threads) {
  Data data(c, d);
  const std::vector<int64_t> params = kernel.params(d.symbols);
  GuardedBuffer scratch(kernel.info().scratch_bytes.evaluate(d.symbols));
  const int64_t tasks = kernel.tasks(d.symbols);
  for (int64_t t = 0; t < threads; ++t) {
    ASSERT_EQ(kernel.run(data.buffers(), params, scratch.floats(), tasks * t / threads, tasks * (t + 1) / threads), 0);
  }
  const double tolerance = 1e-6 * (2 + std::sqrt(static_cast<double>(c.k)));
  for (int64_t e = 0; e < c.batch; ++e) {
    for (int64_t i = 0; i < c.m; ++i) {
      for (int64_t j = 0; j < c.n; ++j) {
        const double expected = data.expected(e, i, j);
        ASSERT_NEAR(data.actual(e, i, j), expected, tolerance * (1 + std::fabs(expected)))
            << c.text() << " [" << e << "," << i << "," << j << "] with " << threads << " threads";
      }
    }
  }
}

class MatMul : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    if (!can_run(GetParam())) GTEST_SKIP() << "this machine does not run " << GetParam();
  }
  void check(const Case& c, const std::vector<int64_t>& threads = {1, 3}) {
    const Description d(c);
    const MappedKernel kernel(d.kernel, GetParam());
    for (int64_t count : threads) run_and_compare(c, kernel, d, count);
  }
  /// Compiles once with symbolic extents and runs all the shapes.
  void check_symbolic(Case c, const std::vector<std::array<int64_t, 3>>& shapes) {
    const MappedKernel kernel(Description(c).kernel, GetParam());
    for (const auto& [m, n, k] : shapes) {
      c.m = m, c.n = n, c.k = k;
      run_and_compare(c, kernel, Description(c), 1);
      run_and_compare(c, kernel, Description(c), 4);
    }
  }
};

INSTANTIATE_TEST_SUITE_P(Targets, MatMul, testing::Values("x86-64-v3", "x86-64-v4"),
                         [](const auto& target) { return target.param.substr(7); });

TEST_P(MatMul, PackedStaticRows) {
  for (int64_t m = 1; m <= 20; ++m) check({.m = m, .n = 100, .k = 16, .packed = true});
  for (int64_t m : {127, 128, 197}) check({.m = m, .n = 49, .k = 64, .packed = true}, {1, 2, 7});
}

TEST_P(MatMul, PackedStaticColumnsAndDepths) {
  for (int64_t n : {1, 15, 16, 17, 48, 49, 100}) check({.m = 10, .n = n, .k = 17, .packed = true});
  for (int64_t k : {0, 1, 3, 16, 64, 300}) {
    for (int64_t m : {1, 2, 3, 11}) check({.m = m, .n = 50, .k = k, .packed = true});
  }
}

TEST_P(MatMul, PackedBatchSharesPanels) {
  check({.batch = 3, .m = 12, .n = 100, .k = 20, .packed = true}, {1, 2, 5});
  check({.batch = 3, .m = 12, .n = 100, .k = 20, .packed = true, .symbolic_batch = true}, {1, 5});
}

TEST_P(MatMul, PackedSymbolicRows) {
  Case c{.n = 100, .k = 30, .packed = true, .symbolic_m = true};
  std::vector<std::array<int64_t, 3>> shapes;
  for (int64_t m = 0; m <= 20; ++m) shapes.push_back({m, 100, 30});
  for (int64_t m : {127, 128, 197}) shapes.push_back({m, 100, 30});
  check_symbolic(c, shapes);
}

TEST_P(MatMul, PackedEpilogueReadsBiasAndResidual) {
  for (int64_t n : {1, 48, 100}) {
    for (int64_t m : {1, 20})
      check({.m = m, .n = n, .k = 64, .packed = true, .epilogue = Epilogue::bias_residual_gelu});
  }
  check({.batch = 2, .m = 20, .n = 100, .k = 0, .packed = true, .epilogue = Epilogue::bias_residual_gelu});
}

TEST_P(MatMul, DeepProductsAreCutAlongK) {
  for (int64_t k : {513, 1100}) {
    check({.m = 197, .n = 50, .k = k, .packed = true, .epilogue = Epilogue::bias_residual_gelu}, {1, 3});
    check({.batch = 2, .m = 11, .n = 100, .k = k, .packed = true, .a_transposed = true}, {1, 3});
    check_symbolic({.n = 50, .k = k, .packed = true, .symbolic_m = true},
                   {{1, 50, k}, {9, 50, k}, {30, 50, k}, {160, 50, k}});
  }
  check({.m = 1, .n = 50, .k = 1100, .packed = true});
}

TEST_P(MatMul, ManyRowsAreCutIntoBlocks) {
  for (int64_t k : {20, 300}) {
    check({.batch = 2, .m = 295, .n = 100, .k = k, .packed = true, .epilogue = Epilogue::bias_residual_gelu},
          {1, 2, 7});
    check_symbolic({.batch = 2, .n = 100, .k = k, .packed = true, .symbolic_m = true},
                   {{144, 100, k}, {145, 100, k}, {216, 100, k}, {217, 100, k}, {500, 100, k}});
  }
}

TEST_P(MatMul, TransposedOperands) {
  for (int64_t n : {1, 16, 50, 96, 197}) {
    for (int64_t k : {0, 1, 15, 33, 64}) {
      check({.batch = 2, .m = 11, .n = n, .k = k});
      check({.batch = 2, .m = 11, .n = n, .k = k, .b_transposed = true});
    }
  }
  check({.batch = 2, .m = 20, .n = 50, .k = 19, .a_transposed = true});
  check({.batch = 2, .m = 20, .n = 50, .k = 19, .packed = true, .a_transposed = true});
  check({.batch = 2, .m = 20, .n = 50, .k = 19, .b_spread = true});
  check({.batch = 3, .m = 20, .n = 50, .k = 19, .b_shared = true});
  check({.batch = 3, .m = 20, .n = 50, .k = 19, .b_transposed = true, .b_shared = true});
  check({.batch = 2, .m = 20, .n = 50, .k = 19, .c_transposed = true, .epilogue = Epilogue::bias_residual_gelu});
}

TEST_P(MatMul, ManyRowsCopyPanelsOfContiguousColumns) {
  for (int64_t n : {16, 48, 64, 100, 113}) check({.batch = 2, .m = 60, .n = n, .k = 35}, {1, 2, 5});
}

TEST_P(MatMul, OneRowPerEntry) {
  for (bool transposed : {false, true}) {
    for (int64_t n : {1, 7, 64, 130}) {
      for (int64_t k : {1, 16, 64, 70}) check({.batch = 5, .m = 1, .n = n, .k = k, .b_transposed = transposed});
    }
  }
}

TEST_P(MatMul, EverythingSymbolic) {
  const std::vector<std::array<int64_t, 3>> shapes = {{1, 1, 1},   {1, 64, 50},  {1, 130, 64},  {5, 15, 3},
                                                      {9, 48, 16}, {10, 49, 33}, {20, 17, 0},   {0, 5, 5},
                                                      {5, 0, 5},   {5, 5, 0},    {40, 100, 70}, {197, 197, 64}};
  Case c{.batch = 2, .symbolic_m = true, .symbolic_n = true, .symbolic_k = true, .symbolic_batch = true};
  check_symbolic(c, shapes);
  c.epilogue = Epilogue::bias_residual_gelu;
  c.b_transposed = true;
  check_symbolic(c, shapes);
  c.b_transposed = false;
  c.b_spread = c.a_transposed = true;
  check_symbolic(c, shapes);
}

TEST_P(MatMul, EmptyExtentsDoNothing) {
  check({.batch = 0, .m = 3, .n = 3, .k = 3});
  check({.m = 0, .n = 3, .k = 3, .packed = true});
  check({.m = 3, .n = 0, .k = 3, .packed = true});
}

TEST(MatMulPlan, TasksBalanceManyThreads) {
  const Description d({.m = 128, .n = 768, .k = 768, .packed = true});
  const CompiledBlob blob = cpu::make_cpu_backend()->compile({&d.kernel}, *find_target("x86-64-v4"), 1);
  EXPECT_EQ(blob.kernels[0].tasks.constant(), 16 * 15);
}

TEST(MatMulPlan, CompilesForAarch64) {
  for (bool transposed : {false, true}) {
    const Description d({.batch = 2, .m = 7, .n = 50, .k = 20, .b_transposed = transposed, .symbolic_m = true});
    EXPECT_FALSE(cpu::make_cpu_backend()->compile({&d.kernel}, *find_target("aarch64"), 1).code.empty());
  }
  const Description d({.m = 128, .n = 768, .k = 768, .packed = true});
  EXPECT_FALSE(cpu::make_cpu_backend()->compile({&d.kernel}, *find_target("aarch64"), 1).code.empty());
}

}  // namespace
}  // namespace gcg::test
