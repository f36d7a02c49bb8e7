// The tile loop of sm_90a (device/gart_tile_loop.cuh) on the simulated GPU: every tile, several tiles a block, results
// and operands as boxes and by threads, epilogues of every kind.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "codegen/cuda/contractions/product.h"
#include "compiler/gir/gir.h"
#include "compiler/support/error.h"
#include "tests/cuda/contractions/simulated_run.h"

namespace gcg::test {
namespace {

struct LoopCase {
  const char* what;
  const char* graph;
  SymbolValues symbols = {};
};
const LoopCase kCases[] = {
    {"bias and GELU, rows and depths that no tile divides", R"(graph g(%x: f32[201,136]) -> (%y) {
      constant %w: f32[136,328] = random(1)
      constant %b: f32[328] = random(2)
      %a = Neg(%x)
      %p = MatMul(%a, %w)
      %q = Add(%p, %b)
      %g = Gelu(%q)
      %y = Softmax(%g) {axis = -1}
    })"},
    {"a residual in the order of the results",
     R"(graph g(%x: f32[130,200], %z: f32[200,136], %r: f32[130,136]) -> (%y, %s) {
      %a = Neg(%x)
      %b = Neg(%z)
      %c = Softmax(%r) {axis = -1}
      %p = MatMul(%a, %b)
      %q = Add(%p, %c)
      %y = Softmax(%q) {axis = -1}
      %s = Softmax(%c) {axis = -1}
    })"},
    {"a residual of 16 bits", R"(graph g(%x: f16[330,200], %z: f16[200,264], %r: f16[330,264]) -> (%y) {
      %p = MatMul(%x, %z)
      %q = Add(%p, %r)
      %y = Relu(%q)
    })"},
    {"a bias for each row, sigmoid and tanh", R"(graph g(%x: f32[77,64], %z: f32[64,264], %r: f32[77,1]) -> (%y) {
      %a = Neg(%x)
      %b = Neg(%z)
      %p = MatMul(%a, %b)
      %q = Add(%p, %r)
      %t = Tanh(%q)
      %u = Sigmoid(%q)
      %v = Mul(%t, %u)
      %y = Softmax(%v) {axis = -1}
    })"},
    {"a batch of two axes, the right factor shared by one of them",
     R"(graph g(%x: f32[2,3,70,72], %z: f32[2,1,72,88]) -> (%y) {
      %a = Neg(%x)
      %b = Neg(%z)
      %p = MatMul(%a, %b)
      %y = Softmax(%p) {axis = -1}
    })"},
    {"an odd number of columns: results by threads", R"(graph g(%x: f32[65,128], %z: f32[128,72]) -> (%y) {
      constant %w: f32[128,72] = random(4)
      %a = Neg(%x)
      %b = Neg(%z)
      %p = MatMul(%a, %b)
      constant %starts: i64[1] = {0}
      constant %ends: i64[1] = {71}
      constant %axes: i64[1] = {1}
      %s = Slice(%p, %starts, %ends, %axes)
      %y = Softmax(%s) {axis = -1}
    })"},
    {"extents that are known when it runs",
     R"(graph g(%x: f32[b,m,88], %r: f32[b,m,96]) -> (%y) {
      constant %w: f32[88,96] = random(3)
      %a = Neg(%x)
      %c = Softmax(%r) {axis = -1}
      %p = MatMul(%a, %w)
      %q = Mul(%p, %c)
      %y = Softmax(%q) {axis = -1}
    })",
     {{"b", 2}, {"m", 167}}},
    {"results of the caller's type", R"(graph g(%x: f32[140,136], %r: f32[140,152]) -> (%y) {
      constant %w: f32[136,152] = random(1)
      %a = Neg(%x)
      %p = MatMul(%a, %w)
      %q = Add(%p, %r)
      %y = Relu(%q)
    })"},
};

const ContractionCase kArithmetics[] = {{"sm_90a", Precision::fp16, 2e-2}, {"sm_90a", Precision::bf16, 1e-1}};

class TileLoop : public testing::TestWithParam<ContractionCase> {};
INSTANTIATE_TEST_SUITE_P(Arithmetics, TileLoop, testing::ValuesIn(kArithmetics), case_name);

/// Emits products with the loop's tile `number`, this many blocks and splits.
Emit in_tile(const Target& target, int number, int blocks, int splits) {
  return [=](const Kernel& kernel) {
    if (!std::holds_alternative<MatMulKernel>(kernel.body)) return cuda::emit_kernel(kernel, target);
    const auto product = cuda::matmul_product(kernel);
    const auto tiles = loop_tiles(*product, target);
    EXPECT_FALSE(tiles.empty());
    if (tiles.empty()) return cuda::emit_kernel(kernel, target);
    cuda::ProductTile tile = tiles[static_cast<size_t>(number) % tiles.size()];
    tile.splits = splits;
    tile.grid = blocks;
    return cuda::emit_product(kernel, *product, tile, "matmul");
  };
}

/// The graph with inputs in the precision's 16-bit type.
std::string stored_as(Precision precision, std::string graph) {
  if (precision == Precision::bf16)
    for (size_t at = 0; (at = graph.find(" f16[", at)) != std::string::npos; at += 2) graph.insert(at + 1, "b");
  return graph;
}

bool has_note(const SimulatedRun& run, const char* text) {
  return std::any_of(run.notes.begin(), run.notes.end(),
                     [&](const std::string& note) { return note.find(text) != std::string::npos; });
}

TEST_P(TileLoop, EveryTileComputesEveryProduct) {
  const Target target = gpu_target(GetParam().target, GetParam().precision);
  int number = GetParam().precision == Precision::fp16 ? 0 : 4;
  for (const LoopCase& c : kCases)
    for (int blocks : {1, 3}) {
      SCOPED_TRACE(concat(c.what, ", tile ", number % 8, ", blocks ", blocks));
      const SimulatedRun run = expect_simulates(stored_as(GetParam().precision, c.graph), target, GetParam().tolerance,
                                                c.symbols, in_tile(target, number++, blocks, 1));
      EXPECT_TRUE(has_note(run, "wgmma, TMA"));
    }
}

TEST_P(TileLoop, SplitsPastTheEndAddZeros) {
  const Target target = gpu_target(GetParam().target, GetParam().precision);
  for (int splits : {2, 4})
    expect_simulates(kCases[0].graph, target, GetParam().tolerance, {}, in_tile(target, splits, 2, splits));
}

/// Functions of f16 results may be approximated, because rounding to f16 hides their errors.
TEST(TileLoopFunctions, AreAsExactAsTheirResults) {
  constexpr int64_t kSide = 64;
  const Target target = gpu_target("sm_90a", Precision::fp16);
  Tensor x(DType::f16, {kSide, kSide}), one(DType::f16, {kSide, kSide});
  for (int64_t i = 0; i < x.elements(); ++i) {
    const double even = static_cast<double>(i) / static_cast<double>(x.elements());
    x.set_double(i, std::round((even * 20 - 10) * 64) / 64);
    one.set_double(i, i % (kSide + 1) == 0 ? 1 : 0);
  }
  const std::pair<const char*, double (*)(double)> functions[] = {
      {"Erf", [](double v) { return std::erf(v); }},
      {"Tanh", [](double v) { return std::tanh(v); }},
      {"Exp", [](double v) { return std::exp(v); }},
      {"Sigmoid", [](double v) { return 1 / (1 + std::exp(-v)); }},
  };
  for (const auto& [name, function] : functions) {
    const Graph graph = parse_graph(
        concat("graph g(%x: f16[64,64], %z: f16[64,64]) -> (%y) {\n  %p = MatMul(%x, %z)\n  %y = ", name, "(%p)\n}"));
    std::string text;
    const Emit emit = [&](const Kernel& kernel) {
      cuda::KernelText made = in_tile(target, 0, 1, 1)(kernel);
      if (std::holds_alternative<MatMulKernel>(kernel.body)) text = made.source;
      return made;
    };
    const SimulatedRun run = run_simulated(graph, {x, one}, target, {}, emit);
    EXPECT_NE(text.find("gart_fast_"), std::string::npos) << name;
    for (int64_t i = 0; i < x.elements(); ++i) {
      const double want = function(x.at_double(i)), rounding = std::abs(want) / 2048 + 3e-8;
      ASSERT_NEAR(run.outputs[0].at_double(i), want, rounding + 3e-7) << name << " of " << x.at_double(i);
    }
  }
}

}  // namespace
}  // namespace gcg::test
