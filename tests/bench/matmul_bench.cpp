// Speed of matrix products on one thread: GFLOP/s and share of the FMA peak, or GB/s for few rows.
// Weights rotate through a set larger than any cache ("cold") or stay the same ("hot").
//   matmul_bench [TARGET] [bytes|bf16]
// With a type: u8 by packed i8, or f32 by packed bf16, with 1 to 256 rows; speed relative to multiply-adds in f32.
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "tests/codegen/matmul_runner.h"
#include "tools/gcc-graph/measure/peak.h"

namespace gcg::bench {
namespace {

constexpr int64_t panel = 48;

class Buffer {
 public:
  explicit Buffer(int64_t floats) : floats_(static_cast<size_t>(floats)) {
    data_ = static_cast<float*>(std::aligned_alloc(4096, (floats_ * 4 + 8191) / 4096 * 4096));
    for (size_t i = 0; i < floats_; ++i) data_[i] = static_cast<float>(i * 7919 % 1000) / 1000.0F - 0.5F;
  }
  ~Buffer() { std::free(data_); }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  float* data() { return data_; }

 private:
  size_t floats_;
  float* data_ = nullptr;
};

/// C [batch, m, n] = A [batch, m, k] * B + bias; B packed and constant, or [batch, k, n], or [batch, n, k] transposed.
Kernel product(int64_t batch, int64_t m, int64_t n, int64_t k, bool packed, bool transposed, bool symbolic_m) {
  const Dim rows = symbolic_m ? Dim::symbol("m") : Dim(m);
  MatMulKernel body;
  body.batch = {Axis{0, batch}};
  body.m = Axis{1, rows};
  body.n = Axis{2, n};
  body.k = Axis{3, k};
  body.a = {0, 0, {rows * k}, k, 1};
  body.b = packed       ? MatrixView{1, 0, {0}, 0, 0}
           : transposed ? MatrixView{1, 0, {n * k}, 1, k}
                        : MatrixView{1, 0, {n * k}, n, 1};
  body.packed_columns = packed ? panel : 0;
  body.result = 3;
  body.index = {axis_ref(body.batch[0]), axis_ref(body.m), axis_ref(body.n)};
  body.epilogue = accumulator(DType::f32) + load(2, DType::f32, {axis_ref(body.n)});
  const Dim b_floats = packed ? Dim((n + panel - 1) / panel * panel * k) : Dim(batch * n * k);
  return {"matmul",
          {},
          {{DType::f32, {batch, rows, k}, false},
           {DType::f32, {b_floats}, false},
           {DType::f32, {n}, false},
           {DType::f32, {batch, rows, n}, true}},
          body};
}

struct Peaks {
  double fma, tile, read;
};

struct Shape3 {
  int64_t batch, m, n, k;
  bool packed = true, transposed = false, symbolic_m = false;
};

void measure(const std::string& target, const Shape3& s, bool cold, const Peaks& peaks) {
  const test::MappedKernel kernel(product(s.batch, s.m, s.n, s.k, s.packed, s.transposed, s.symbolic_m), target);
  const SymbolValues symbols{{"m", s.m}};
  const int64_t b_floats = s.packed ? (s.n + panel - 1) / panel * panel * s.k : s.batch * s.n * s.k;
  const int64_t copies = cold ? std::max<int64_t>(1, (400 << 20) / (b_floats * 4)) : 1;
  Buffer a(s.batch * s.m * s.k), b(b_floats * copies), bias(s.n), c(s.batch * s.m * s.n),
      scratch(kernel.info().scratch_bytes.evaluate(symbols) / 4 + 16);
  const std::vector<int64_t> params = kernel.params(symbols);
  const int64_t tasks = kernel.tasks(symbols);
  std::vector<double> times;
  const double end = seconds() + 1;
  for (int64_t i = 0; seconds() < end || i < copies; ++i) {
    const double start = seconds();
    kernel.run({a.data(), b.data() + i % copies * b_floats, bias.data(), c.data()}, params, scratch.data(), 0, tasks);
    times.push_back(seconds() - start);
  }
  std::sort(times.begin(), times.end());
  const double best = times.front(), median = times[times.size() / 2];
  const double flops = 2.0 * static_cast<double>(s.batch * s.m * s.n * s.k) * 1e-9,
               bytes = static_cast<double>(b_floats) * 4e-9;
  std::printf(
      "%2ld x %3ldx%ldx%ld %s%s %s  %8.1f us  %6.1f GF/s  %5.1f%% of FMA peak, %5.1f%% with loads;  B at %5.1f GB/s, "
      "%5.1f%% of "
      "reading;  median %5.1f%%  %s\n",
      s.batch, s.m, s.k, s.n,
      s.packed       ? "packed"
      : s.transposed ? "B^T"
                     : "B",
      s.symbolic_m ? " m?" : "", cold ? "cold" : "hot ", best * 1e6, flops / best, 100 * flops / best / peaks.fma,
      100 * flops / best / peaks.tile, bytes / best, 100 * bytes / best / peaks.read, 100 * best / median,
      kernel.info().note.c_str());
}

int run(const std::string& target) {
  if (!test::can_run(target)) {
    std::printf("this machine does not run %s\n", target.c_str());
    return 1;
  }
  const bool avx512 = target == "x86-64-v4";
  Buffer large(100 << 20);
  auto peaks = [&] {
    return Peaks{fma_peak(avx512, false), fma_peak(avx512, true), read_bandwidth(large.data(), 400 << 20)};
  };
  Peaks now = peaks();
  std::printf("%s: FMA peak %.1f GF/s, with the tile's loads %.1f; reading %.1f GB/s\n", target.c_str(), now.fma,
              now.tile, now.read);
  const std::vector<Shape3> shapes = {{1, 128, 768, 768},
                                      {1, 128, 3072, 768},
                                      {1, 128, 768, 3072},
                                      {1, 197, 768, 768},
                                      {1, 1, 768, 768},
                                      {1, 1, 3072, 768},
                                      {1, 1, 768, 3072},
                                      {1, 4, 3072, 768},
                                      {1, 16, 3072, 768},
                                      {1, 32, 3072, 768},
                                      {1, 128, 3072, 768, true, false, true}};
  for (const Shape3& s : shapes) measure(target, s, true, now = peaks());
  measure(target, shapes[0], false, peaks());
  const std::vector<Shape3> attention = {{12, 128, 128, 64, false, true}, {12, 128, 64, 128, false, false},
                                         {12, 197, 197, 64, false, true}, {12, 197, 64, 197, false, false},
                                         {12, 1, 512, 64, false, true},   {12, 1, 64, 512, false, false}};
  for (const Shape3& s : attention) measure(target, s, false, peaks());
  return 0;
}

// ---------------------------------------------------------------- elements packed into words

/// C [m, n] = (f32) A [m, k] * B + bias, with u8 by i8 in VNNI groups of 4, or f32 by bf16.
Kernel product_of_words(int64_t m, int64_t n, int64_t k, bool bytes) {
  Kernel kernel = product(1, m, n, k, true, false, false);
  auto& body = std::get<MatMulKernel>(kernel.body);
  body.b = {1, 0, {0}, 0, 0};
  const Dim panels = (n + panel - 1) / panel;
  if (bytes) {
    kernel.operands[0].dtype = DType::u8;
    kernel.operands[1] = {DType::i8, {panels, k / 4, panel, 4}, false};
    body.epilogue = cast(DType::f32, accumulator(DType::i32)) + load(2, DType::f32, {axis_ref(body.n)});
  } else {
    kernel.operands[1] = {DType::bf16, {panels, k, panel}, false};
  }
  return kernel;
}

void measure_words(const std::string& target, const Shape3& s, bool bytes, bool cold, double peak) {
  const test::MappedKernel kernel(product_of_words(s.m, s.n, s.k, bytes), target);
  const int64_t b_floats = (s.n + panel - 1) / panel * panel * s.k / (bytes ? 4 : 2);
  const int64_t copies = cold ? std::max<int64_t>(1, (400 << 20) / (b_floats * 4)) : 1;
  Buffer a(s.m * s.k), b(b_floats * copies), bias(s.n), c(s.m * s.n),
      scratch(kernel.info().scratch_bytes.evaluate({}) / 4 + 16);
  const std::vector<int64_t> params = kernel.params({});
  const int64_t tasks = kernel.tasks({});
  double best = 1e30;
  const double end = seconds() + 0.1;
  for (int64_t i = 0; seconds() < end || i < copies; ++i) {
    const double start = seconds();
    kernel.run({a.data(), b.data() + i % copies * b_floats, bias.data(), c.data()}, params, scratch.data(), 0, tasks);
    best = std::min(best, seconds() - start);
  }
  const double flops = 2.0 * static_cast<double>(s.m * s.n * s.k) * 1e-9;
  std::printf("%3ldx%4ldx%4ld %s %s  %8.1f us  %7.1f GOP/s  %5.2f x f32's peak; B at %5.1f GB/s  %s\n", s.m, s.k, s.n,
              bytes ? "bytes" : "bf16", cold ? "cold" : "hot ", best * 1e6, flops / best, flops / best / peak,
              static_cast<double>(b_floats) * 4e-9 / best, kernel.info().note.c_str());
}

int run_words(const std::string& target, bool bytes) {
  if (!test::can_run(target)) return std::printf("this machine does not run %s\n", target.c_str()), 1;
  for (const bool cold : {false, true})
    for (const auto& [k, n] : {std::pair<int64_t, int64_t>{768, 768}, {3072, 768}, {768, 3072}, {64, 96}, {200, 1000}})
      for (const int64_t m : {1, 2, 3, 4, 5, 8, 12, 16, 24, 32, 48, 64, 128, 197, 256})
        if (!cold || k > 200) measure_words(target, {1, m, n, k}, bytes, cold, fma_peak(true, false));
  return 0;
}

}  // namespace
}  // namespace gcg::bench

int main(int argc, char** argv) {
  const std::string target = argc > 1 ? argv[1] : "x86-64-v4";
  return argc > 2 ? gcg::bench::run_words(target, std::string(argv[2]) == "bytes") : gcg::bench::run(target);
}
