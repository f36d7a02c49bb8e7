// Products with few tiles, whose depth is divided among the blocks of a cluster: results on the simulated GPU, the same
// bits for any order of blocks, and the real assembler's code.
#include <gtest/gtest.h>

#include <cstdlib>

#include "codegen/cuda/assembler/assemble.h"
#include "codegen/cuda/contractions/cluster_product.h"
#include "compiler/gir/gir.h"
#include "compiler/support/error.h"
#include "tests/cuda/contractions/simulated_run.h"

namespace gcg::test {
namespace {

struct SmallCase {
  const char* what;
  const char* graph;
};
const SmallCase kSmall[] = {
    {"bias and residual, a depth that ends within a step", R"(graph g(%a: f32[70,328], %r: f32[70,72]) -> (%y) {
      constant %w: f32[328,72] = random(1)
      constant %c: f32[72] = random(2)
      %n = Neg(%a)
      %p = MatMul(%n, %w)
      %s = Add(%p, %c)
      %t = Relu(%s)
      %y = Add(%t, %r)
    })"},
    {"activations, of odd columns", R"(graph g(%a: f32[3,40,136], %b: f32[3,51,136]) -> (%y) {
      %m = Neg(%a)
      %n = Neg(%b)
      %t = Transpose(%n) {perm = [0,2,1]}
      %y = MatMul(%m, %t)
    })"},
    {"the right operand across the depth", R"(graph g(%a: f32[30,200], %b: f32[200,136]) -> (%y) {
      %m = Neg(%a)
      %n = Neg(%b)
      %y = MatMul(%m, %n)
    })"},
    {"the left operand across the depth", R"(graph g(%a: f32[200,72], %b: f32[200,136]) -> (%y) {
      %m = Neg(%a)
      %n = Neg(%b)
      %t = Transpose(%m) {perm = [1,0]}
      %y = MatMul(%t, %n)
    })"},
    {"few rows of many columns", R"(graph g(%a: f32[20,512]) -> (%y) {
      constant %w: f32[512,328] = random(1)
      constant %c: f32[328] = random(2)
      %n = Neg(%a)
      %p = MatMul(%n, %w)
      %y = Add(%p, %c)
    })"},
};

const Kernel& last_kernel(const Plan& plan) { return plan.kernels[plan.entry().steps.back().as<Launch>()->kernel]; }
constexpr size_t kAll = 1000;

std::vector<cuda::ProductTile> tiles_of(const Kernel& kernel, const Target& target) {
  return cuda::cluster_tiles(kernel, target, *cuda::matmul_product(kernel), kAll);
}

/// The tile of this number, for products of 16-bit operands.
Emit emit_tile(const Target& target, size_t number) {
  return [&target, number](const Kernel& kernel) {
    if (!std::holds_alternative<MatMulKernel>(kernel.body)) return cuda::emit_kernel(kernel, target);
    const std::vector<cuda::ProductTile> tiles = tiles_of(kernel, target);
    return cuda::emit_product(kernel, *cuda::matmul_product(kernel), tiles[number % tiles.size()], "matmul");
  };
}

class SmallProducts : public testing::TestWithParam<Precision> {};
INSTANTIATE_TEST_SUITE_P(Precisions, SmallProducts, testing::Values(Precision::fp16, Precision::bf16),
                         [](const auto& instance) { return std::string(name_of(instance.param)); });

TEST_P(SmallProducts, EveryTile) {
  const Target target = gpu_target("sm_90a", GetParam());
  const size_t stride = GetParam() == Precision::bf16 || std::getenv("GCC_GRAPH_ALL_TILES") == nullptr ? 5 : 1;
  for (const SmallCase& c : kSmall) {
    const Plan plan = cuda_plan(parse_graph(c.graph), target);
    const size_t count = tiles_of(last_kernel(plan), target).size();
    ASSERT_GT(count, 0U) << c.what;
    for (size_t i = 0; i < count; i += stride) {
      SCOPED_TRACE(concat(c.what, ", ", describe(tiles_of(last_kernel(plan), target)[i])));
      const SimulatedRun run =
          expect_simulates(c.graph, target, GetParam() == Precision::fp16 ? 1e-2 : 8e-2, {}, emit_tile(target, i));
      EXPECT_EQ(run.kernels.back(), "matmul_small");
    }
  }
}

TEST_P(SmallProducts, OpenExtents) {
  const Target target = gpu_target("sm_90a", GetParam());
  for (const size_t tile : {0, 3})
    expect_simulates(R"(graph g(%a: f32[b,m,264]) -> (%y) {
      constant %w: f32[264,72] = random(1)
      constant %c: f32[72] = random(2)
      %n = Neg(%a)
      %p = MatMul(%n, %w)
      %y = Add(%p, %c)
    })",
                     target, GetParam() == Precision::fp16 ? 1e-2 : 8e-2, {{"b", 2}, {"m", 35}},
                     emit_tile(target, tile));
}

/// Expected times of products that were measured on an H200 (microseconds).
TEST(SmallProductsCost, FollowsMeasurements) {
  struct Measured {
    int rows, depth, columns;
    double microseconds;
  };
  const Measured all[] = {{128, 768, 768, 4.2},  {128, 768, 2304, 4.8},   {128, 768, 3072, 5.4},
                          {128, 3072, 768, 6.8}, {197, 768, 768, 4.3},    {49, 4608, 512, 5.5},
                          {784, 512, 128, 3.3},  {32, 4096, 14336, 33.7}, {64, 4096, 14336, 33.3}};
  const Target target = gpu_target("sm_90a", Precision::fp16);
  for (const Measured& m : all) {
    const std::string gir =
        concat("graph g(%a: f32[", m.rows, ",", m.depth, "], %w: f32[", m.columns, ",", m.depth, R"(]) -> (%y) {
      %m = Neg(%a)
      %n = Neg(%w)
      %t = Transpose(%n) {perm = [1,0]}
      %y = MatMul(%m, %t)
    })");
    const Plan plan = cuda_plan(parse_graph(gir), target);
    const std::vector<cuda::ProductTile> tiles = tiles_of(last_kernel(plan), target);
    ASSERT_FALSE(tiles.empty());
    EXPECT_NEAR(tiles[0].microseconds / m.microseconds, 1, 0.2)
        << m.rows << "x" << m.depth << "x" << m.columns << ": " << describe(tiles[0]) << " " << tiles[0].microseconds;
  }
}

TEST(SmallProductsText, AssembledWithoutSpills) {
  for (const Precision precision : {Precision::fp16, Precision::bf16}) {
    const Target target = gpu_target("sm_90a", precision);
    if (cuda::Nvrtc::find_for_driver(target.driver) == nullptr) GTEST_SKIP() << "no NVRTC on this machine";
    const cuda::CubinCache cache{std::filesystem::path()};
    const cuda::Assembler assembler(target, cache);
    for (const SmallCase& c : kSmall) {
      const Plan plan = cuda_plan(parse_graph(c.graph), target);
      const Kernel& kernel = last_kernel(plan);
      const std::vector<cuda::ProductTile> tiles = tiles_of(kernel, target);
      const size_t stride = std::getenv("GCC_GRAPH_ALL_TILES") != nullptr ? 1 : 4;
      for (size_t i = 0; i < tiles.size(); i += stride) {
        const cuda::KernelText text = cuda::emit_product(kernel, *cuda::matmul_product(kernel), tiles[i], "matmul");
        const cuda::Usage usage = cuda::usage_of(assembler.assemble(text.source).log);
        EXPECT_EQ(usage.spill_bytes, 0) << c.what << ": " << text.note;
        EXPECT_TRUE(usage.notes.empty()) << c.what << ": " << text.note << ": " << usage.notes[0];
        if (stride == 1) std::printf("%s: %d registers, %s\n", c.what, usage.registers, text.note.c_str());
      }
    }
  }
}

}  // namespace
}  // namespace gcg::test
