// f32 products as three tf32 products by warpgroups (device/gart_f32_loop.cuh): every tile on the simulated GPU, with
// odd and even extents; infinities and NaN; the conditions for such tiles; the assembler's code.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "codegen/cuda/assembler/assemble.h"
#include "codegen/cuda/contractions/product.h"
#include "compiler/gir/gir.h"
#include "compiler/support/error.h"
#include "tests/cuda/contractions/simulated_run.h"

namespace gcg::test {
namespace {

struct F32Case {
  const char* what;
  const char* graph;
  SymbolValues symbols = {};
};
const F32Case kCases[] = {
    {"bias and ReLU, rows and depths that no tile divides", R"(graph g(%x: f32[201,132], %w: f32[152,132]) -> (%y) {
      constant %b: f32[152] = random(2)
      %t = Transpose(%w) {perm = [1,0]}
      %p = MatMul(%x, %t)
      %q = Add(%p, %b)
      %y = Relu(%q)
    })"},
    {"one step, a residual", R"(graph g(%x: f32[37,32], %z: f32[72,32], %r: f32[37,72]) -> (%y) {
      %t = Transpose(%z) {perm = [1,0]}
      %p = MatMul(%x, %t)
      %y = Add(%p, %r)
    })"},
    {"a batch of two axes, the right factor shared by one of them",
     R"(graph g(%x: f32[2,3,70,72], %z: f32[2,1,88,72]) -> (%y) {
      %t = Transpose(%z) {perm = [0,1,3,2]}
      %y = MatMul(%x, %t)
    })"},
    {"an odd number of columns", R"(graph g(%x: f32[65,128], %w: f32[71,128]) -> (%y) {
      %t = Transpose(%w) {perm = [1,0]}
      %y = MatMul(%x, %t)
    })"},
    {"extents that are known when it runs",
     R"(graph g(%x: f32[b,m,100], %w: f32[96,100], %r: f32[b,m,96]) -> (%y) {
      %t = Transpose(%w) {perm = [1,0]}
      %p = MatMul(%x, %t)
      %y = Mul(%p, %r)
    })",
     {{"b", 2}, {"m", 167}}},
};

Target f32_target() { return gpu_target("sm_90a", Precision::fp32); }

Emit in_tile(const Target& target, size_t number, int blocks, int splits) {
  return [=](const Kernel& kernel) {
    if (!std::holds_alternative<MatMulKernel>(kernel.body)) return cuda::emit_kernel(kernel, target);
    const auto product = cuda::matmul_product(kernel);
    const auto tiles = loop_tiles(*product, target);
    EXPECT_EQ(tiles.size(), 2U);
    if (tiles.empty()) return cuda::emit_kernel(kernel, target);
    cuda::ProductTile tile = tiles[number % tiles.size()];
    tile.splits = splits;
    tile.grid = blocks;
    return cuda::emit_product(kernel, *product, tile, "matmul");
  };
}

TEST(F32Loop, EveryTileComputesEveryProduct) {
  const Target target = f32_target();
  size_t number = 0;
  for (const F32Case& c : kCases)
    for (int blocks : {1, 3}) {
      SCOPED_TRACE(concat(c.what, ", tile ", number % 2, ", blocks ", blocks));
      const SimulatedRun run = expect_simulates(c.graph, target, 1e-5, c.symbols, in_tile(target, number++, blocks, 1));
      EXPECT_NE(run.notes.back().find("3xtf32 wgmma, TMA"), std::string::npos) << run.notes.back();
    }
  expect_simulates(kCases[0].graph, target, 1e-5, {}, in_tile(target, 0, 2, 3));
}

TEST(F32Loop, InfinitiesAndNaNAreThoseOfTheProduct) {
  const Target target = f32_target();
  constexpr float kInfinity = std::numeric_limits<float>::infinity(), kNaN = std::numeric_limits<float>::quiet_NaN();
  // Each row of x and each column of z has one special number, so the results are x[i] * z[j].
  const std::vector<float> xs = {kInfinity, -kInfinity, kNaN, 1, -2, 0, 3.1f, 1e-30f},
                           zs = {kInfinity, kNaN, 1, 0, -3.7f, 0.5f, -kInfinity, 4};
  Tensor x(DType::f32, {8, 32}), z(DType::f32, {8, 32});
  for (int64_t i = 0; i < 8; ++i)
    for (int64_t k = 0; k < 32; ++k) {
      x.set_double(i * 32 + k, k == 5 ? xs[static_cast<size_t>(i)] : 0);
      z.set_double(i * 32 + k, k == 5 ? zs[static_cast<size_t>(i)] : 0);
    }
  const Graph graph = parse_graph(R"(graph g(%x: f32[8,32], %z: f32[8,32]) -> (%y) {
    %t = Transpose(%z) {perm = [1,0]}
    %y = MatMul(%x, %t)
  })");
  const SimulatedRun run = run_simulated(graph, {x, z}, target, {}, in_tile(target, 1, 1, 1));
  for (int64_t i = 0; i < 8; ++i)
    for (int64_t j = 0; j < 8; ++j) {
      const float want = xs[static_cast<size_t>(i)] * zs[static_cast<size_t>(j)];
      const double got = run.outputs[0].at_double(i * 8 + j);
      if (std::isnan(want))
        EXPECT_TRUE(std::isnan(got)) << i << " " << j << " " << got;
      else if (std::isinf(want))
        EXPECT_EQ(got, want) << i << " " << j;
      else
        EXPECT_NEAR(got, want, 1e-6 * std::abs(want)) << i << " " << j;
    }
}

TEST(F32Loop, OnlyOfLinesAlongTheDepthInF32) {
  const auto count = [](const char* graph, const Target& target) {
    const Plan plan = cuda_plan(parse_graph(graph), target);
    for (const Kernel& k : plan.kernels)
      if (std::holds_alternative<MatMulKernel>(k.body)) return loop_tiles(*cuda::matmul_product(k), target).size();
    ADD_FAILURE() << "no product";
    return size_t{0};
  };
  const char* const along = R"(graph g(%x: f32[64,128], %z: f32[64,128]) -> (%y) {
    %t = Transpose(%z) {perm = [1,0]}
    %y = MatMul(%x, %t)
  })";
  const char* const across = R"(graph g(%x: f32[64,128], %z: f32[128,64]) -> (%y) {
    %y = MatMul(%x, %z)
  })";
  EXPECT_EQ(count(along, f32_target()), 2U);
  EXPECT_EQ(count(across, f32_target()), 0U);
  EXPECT_EQ(count(along, gpu_target("sm_90a", Precision::tf32)), 0U);
  EXPECT_EQ(count(along, gpu_target("sm_80")), 0U);
}

TEST(F32Loop, ProductsAreNotSerialised) {
  const Target target = f32_target();
  if (cuda::Nvrtc::find_for_driver(target.driver) == nullptr) GTEST_SKIP() << "no NVRTC on this machine";
  const cuda::CubinCache cache{std::filesystem::path()};
  for (const F32Case& c : kCases) {
    const Plan plan = cuda_plan(parse_graph(c.graph), target);
    for (const Kernel& k : plan.kernels) {
      if (!std::holds_alternative<MatMulKernel>(k.body)) continue;
      const auto product = cuda::matmul_product(k);
      for (const cuda::ProductTile& tile : loop_tiles(*product, target)) {
        const cuda::KernelText text = cuda::emit_product(k, *product, tile, "matmul");
        SCOPED_TRACE(concat(c.what, ": ", text.note));
        const cuda::AssembledProgram program =
            cuda::Assembler(target, cache).assemble(text.source, text.least_registers);
        const cuda::Usage usage = cuda::usage_of(program.log);
        EXPECT_TRUE(usage.notes.empty()) << (usage.notes.empty() ? "" : usage.notes[0]);
        EXPECT_EQ(usage.spill_bytes, 0);
        EXPECT_EQ(usage.registers, text.least_registers) << "what is shared out";
      }
    }
  }
}

}  // namespace
}  // namespace gcg::test
