// Attention of many shapes and views, run from compiled code between inaccessible pages. The results are compared with
// sums in double, and must have the same bits as a separate product, Softmax and product.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <optional>

#include "tests/codegen/matmul_runner.h"

namespace gcg::test {
namespace {

/// Operands: Q [batch, m, d], K, V [batch, t, n]; mask [batch, t], which is added to scaled scores; boolean kept [m]; Y
/// [batch, m, n], P [batch, m, t].
struct Case {
  int64_t batch = 1, m = 1, t = 1, d = 1, n = 1;
  bool k_transposed = true;  // K is stored as [t, d] instead of [d, t]
  bool symbolic = false;
  bool drops_rows = false;  // every third row of the result, and rows with NaN, are zero

  std::string text() const {
    return concat(batch, " x ", m, " queries, ", t, " keys, heads of ", d, " and ", n, k_transposed ? "" : ", K^T",
                  symbolic ? ", symbolic" : "", drops_rows ? ", rows dropped" : "");
  }
};

constexpr int Q = 0, K = 1, V = 2, mask = 3, row_mask = 4, Y = 5, P = 6;
constexpr float kScale = 0.25F;

/// Makes the kernels that a case describes.
class Description {
 public:
  explicit Description(const Case& c) : symbols{{"b", c.batch}, {"m", c.m}, {"t", c.t}, {"d", c.d}, {"n", c.n}}, c_(c) {
    const auto axis = [&](int id, const char* name) {
      return Axis{id, c.symbolic ? Dim::symbol(name) : Dim(symbols.at(name))};
    };
    b_ = axis(0, "b"), m_ = axis(1, "m"), t_ = axis(2, "t"), d_ = axis(3, "d"), n_ = axis(4, "n");
    const Dim entries = b_.extent, m = m_.extent, t = t_.extent, d = d_.extent, n = n_.extent;
    operands_ = {
        {DType::f32, {entries * m * d}},      {DType::f32, {entries * d * t}}, {DType::f32, {entries * t * n}},
        {DType::f32, {entries * t}},          {DType::boolean, {m}},           {DType::f32, {entries * m * n}, true},
        {DType::f32, {entries * m * t}, true}};
    q_ = {Q, 0, {m * d}, d, 1};
    k_ = c.k_transposed ? MatrixView{K, 0, {d * t}, 1, d} : MatrixView{K, 0, {d * t}, t, 1};
    v_ = {V, 0, {t * n}, n, 1};
    scores_ = accumulator(DType::f32) * constant_float(DType::f32, kScale) + load(mask, DType::f32, {flat(b_, t_)});
  }

  Kernel attention() const {
    AttentionKernel k;
    k.batch = {b_};
    k.m = m_, k.n = n_, k.t = t_, k.d = d_;
    k.q = q_, k.k = k_, k.v = v_;
    k.scores = scores_;
    if (c_.drops_rows) k.row_mask = is_kept();
    k.is_nan_zero = c_.drops_rows;
    k.epilogue = accumulator(DType::f32);
    k.result = Y;
    k.index = {flat(b_, m_) * extent(n_.extent) + axis_ref(n_)};
    return kernel(std::move(k));
  }

  Kernel score_product() const { return kernel(product(d_, t_, q_, k_, scores_, P)); }
  Kernel value_product() const {
    return kernel(product(t_, n_, {P, 0, {m_.extent * t_.extent}, t_.extent, 1}, v_, accumulator(DType::f32), Y));
  }
  Kernel softmax() const {
    const std::vector<Expr> at = {flat(b_, m_) * extent(t_.extent) + axis_ref(t_)};
    const Expr x = load(P, DType::f32, at), e = unary(UnaryOp::exp, x - local_ref(0, DType::f32));
    LoopKernel loop;
    loop.outer = {b_, m_};
    std::erase_if(loop.outer, [](const Axis& a) { return a.extent.is(1); });
    Stage most, sum, store;
    most.kind = sum.kind = Stage::Kind::reduce;
    most.axes = sum.axes = store.axes = {t_};
    most.value = x, most.reduce = ReduceOp::max, most.local = 0;
    sum.value = e, sum.reduce = ReduceOp::sum, sum.local = 1;
    const Expr zero = constant_float(DType::f32, 0);
    store.value = e * unary(UnaryOp::reciprocal, local_ref(1, DType::f32));
    if (c_.drops_rows) {
      store.value = select(unary(UnaryOp::is_nan, store.value), zero, store.value);
      store.value = select(is_kept(), store.value, zero);
    }
    store.operand = P, store.index = at;
    loop.stages = {most, sum, store};
    return kernel(std::move(loop));
  }

  std::vector<int64_t> bytes() const {
    std::vector<int64_t> sizes;
    for (const Operand& o : operands_) sizes.push_back(product_of(o) * size_of(o.dtype));
    return sizes;
  }
  SymbolValues symbols;

 private:
  static Expr flat(const Axis& row, const Axis& column) {
    return axis_ref(row) * extent(column.extent) + axis_ref(column);
  }
  Expr is_kept() const { return load(row_mask, DType::boolean, {axis_ref(m_)}); }
  int64_t product_of(const Operand& o) const { return gcg::product(o.shape).evaluate(symbols); }
  template <class Body>
  Kernel kernel(Body body) const {
    Kernel k;
    k.name = "test";
    k.operands = operands_;
    k.body = std::move(body);
    return k;
  }
  MatMulKernel product(const Axis& depth, const Axis& columns, MatrixView a, MatrixView b, Expr epilogue,
                       int to) const {
    MatMulKernel p;
    p.batch = {b_};
    p.m = m_, p.n = columns, p.k = depth;
    p.a = std::move(a), p.b = std::move(b);
    p.epilogue = std::move(epilogue);
    p.result = to;
    p.index = {flat(b_, m_) * extent(columns.extent) + axis_ref(columns)};
    return p;
  }

  Case c_;
  Axis b_, m_, t_, d_, n_;
  std::vector<Operand> operands_;
  MatrixView q_, k_, v_;
  Expr scores_;
};

class AttentionRun {
 public:
  explicit AttentionRun(const Case& c) : c_(c), what_(c) {
    unsigned state = 7;
    for (int64_t bytes : what_.bytes()) memory_.push_back(std::make_unique<GuardedBuffer>(bytes));
    for (int o : {Q, K, V, mask})
      for (int64_t i = 0; i < count(o); ++i) {
        state = state * 1664525U + 1013904223U;
        at(o)[i] = static_cast<float>(state >> 8) / (1 << 23) - 1;
      }
    for (int64_t row = 0; row < c.m; ++row) reinterpret_cast<bool*>(at(row_mask))[row] = row % 3 != 1;
    // A batch entry whose keys are all masked.
    if (c.drops_rows) std::fill_n(at(mask), c.t, -std::numeric_limits<float>::infinity());
  }

  /// Runs the tasks in pieces of at most `piece` tasks.
  std::vector<float> attention(const std::string& target, int64_t piece) {
    if (!attention_) attention_.emplace(what_.attention(), target);
    run(*attention_, piece);
    return result();
  }
  std::vector<float> three_kernels(const std::string& target) {
    for (const Kernel& k : {what_.score_product(), what_.softmax(), what_.value_product()})
      run(MappedKernel(k, target), 1 << 20);
    return result();
  }

  void expect_near(const std::vector<float>& y) {
    std::vector<double> p(static_cast<size_t>(c_.t));
    for (int64_t row = 0; row < c_.batch * c_.m; ++row) {
      const int64_t b = row / c_.m;
      double most = -std::numeric_limits<double>::infinity(), sum = 0;
      for (int64_t t = 0; t < c_.t; ++t) {
        double s = 0;
        for (int64_t d = 0; d < c_.d; ++d)
          s += double{at(Q)[row * c_.d + d]} * at(K)[b * c_.d * c_.t + (c_.k_transposed ? t * c_.d + d : d * c_.t + t)];
        p[static_cast<size_t>(t)] = s = s * kScale + at(mask)[b * c_.t + t];
        most = std::max(most, s);
      }
      for (double& x : p) sum += x = std::exp(x - most);
      const bool dropped = c_.drops_rows && (row % c_.m % 3 == 1 || std::isnan(sum));
      for (int64_t n = 0; n < c_.n; ++n) {
        double want = 0;
        for (int64_t t = 0; t < c_.t && !dropped; ++t)
          want += p[static_cast<size_t>(t)] / sum * at(V)[(b * c_.t + t) * c_.n + n];
        ASSERT_NEAR(y[static_cast<size_t>(row * c_.n + n)], want, 2e-6)
            << c_.text() << " row " << row << " column " << n;
      }
    }
  }

 private:
  float* at(int operand) { return memory_[static_cast<size_t>(operand)]->floats(); }
  int64_t count(int operand) { return what_.bytes()[static_cast<size_t>(operand)] / 4; }
  std::vector<float> result() { return {at(Y), at(Y) + count(Y)}; }

  void run(const MappedKernel& mapped, int64_t piece) {
    GuardedBuffer scratch(mapped.info().scratch_bytes.evaluate(what_.symbols));
    std::fill_n(scratch.floats(), mapped.info().scratch_bytes.evaluate(what_.symbols) / 4,
                std::numeric_limits<float>::quiet_NaN());
    std::vector<void*> buffers;
    for (const auto& m : memory_) buffers.push_back(m->floats());
    const std::vector<int64_t> params = mapped.params(what_.symbols);
    const int64_t tasks = mapped.tasks(what_.symbols);
    for (int64_t end = tasks; end > 0; end -= std::min(end, piece))
      ASSERT_EQ(mapped.run(buffers, params, scratch.floats(), std::max<int64_t>(end - piece, 0), end), 0);
  }

  Case c_;
  Description what_;
  std::vector<std::unique_ptr<GuardedBuffer>> memory_;
  std::optional<MappedKernel> attention_;
};

class CpuAttention : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    if (!can_run(GetParam())) GTEST_SKIP() << "this machine does not run " << GetParam();
  }
  static void check(Case c) {
    std::vector<float> first;
    for (bool symbolic : {false, true}) {
      c.symbolic = symbolic;
      AttentionRun run(c);
      const std::vector<float> y = run.attention(GetParam(), 1 << 20);
      EXPECT_EQ(run.attention(GetParam(), 1), y) << c.text() << ": tasks one by one";
      run.expect_near(y);
      if (symbolic)
        EXPECT_EQ(y, first) << c.text() << ": symbolic extents";
      else
        EXPECT_EQ(run.three_kernels(GetParam()), y) << c.text() << ": three kernels";
      first = y;
    }
  }
};

TEST_P(CpuAttention, RowsOfManyNumbers) {
  for (int64_t m : {1, 2, 10, 75}) check({.batch = 2, .m = m, .t = 53, .d = 16, .n = 24});
}

TEST_P(CpuAttention, KeysOfManyNumbers) {
  for (int64_t t : {1, 15, 48, 333}) check({.batch = 2, .m = 21, .t = t, .d = 24, .n = 16});
}

TEST_P(CpuAttention, HeadsOfManySizes) {
  check({.m = 20, .t = 30, .d = 1, .n = 8});
  check({.m = 20, .t = 30, .d = 7, .n = 1});
  check({.m = 20, .t = 30, .d = 130, .n = 130});
}

TEST_P(CpuAttention, KeysStoredTransposed) {
  for (int64_t m : {3, 60}) check({.batch = 3, .m = m, .t = 61, .d = 20, .n = 20, .k_transposed = false});
}

/// The scores of a block fill the available memory.
TEST_P(CpuAttention, ManyKeys) { check({.m = 50, .t = 5000, .d = 8, .n = 8}); }

TEST_P(CpuAttention, DroppedRows) {
  for (int64_t m : {5, 50}) check({.batch = 2, .m = m, .t = 33, .d = 8, .n = 17, .drops_rows = true});
}

TEST_P(CpuAttention, Nothing) { check({.batch = 2, .m = 0, .t = 5, .d = 4, .n = 4}); }

INSTANTIATE_TEST_SUITE_P(Targets, CpuAttention, testing::Values("x86-64-v3", "x86-64-v4", "aarch64"),
                         [](const auto& test) {
                           std::string name = test.param;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

}  // namespace
}  // namespace gcg::test
