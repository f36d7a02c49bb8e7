// Convolutions in the tile loops of sm_90a (device/gart_tile_loop.cuh, device/gart_f32_loop.cuh) on the simulated GPU:
// operands are boxes of windows, in 16 bits and in f32.
#include <gtest/gtest.h>

#include "codegen/cuda/assembler/assemble.h"
#include "codegen/cuda/contractions/product.h"
#include "compiler/gir/gir.h"
#include "compiler/support/error.h"
#include "tests/cuda/contractions/simulated_run.h"

namespace gcg::test {
namespace {

class ConvLoop : public testing::TestWithParam<ContractionCase> {};
INSTANTIATE_TEST_SUITE_P(Arithmetics, ConvLoop,
                         testing::Values(ContractionCase{"sm_90a", Precision::fp16, 6e-2},
                                         ContractionCase{"sm_90a", Precision::bf16, 3e-1},
                                         ContractionCase{"sm_90a", Precision::fp32, 3e-5}),
                         case_name);
/// Emits convolutions in the tile loop if their operands can be boxes, and counts these convolutions.
Emit conv_in_tile(const Target& target, int number, int blocks, int& count) {
  return [=, &count](const Kernel& kernel) {
    if (!std::holds_alternative<PlainConvKernel>(kernel.body)) return cuda::emit_kernel(kernel, target);
    const auto product = cuda::conv_product(kernel);
    const auto tiles = loop_tiles(*product, target);
    if (tiles.empty()) return cuda::emit_kernel(kernel, target);
    cuda::ProductTile tile = tiles[static_cast<size_t>(number + count++) % tiles.size()];
    tile.grid = blocks;
    return cuda::emit_product(kernel, *product, tile, "conv");
  };
}

struct ConvCase {
  const char* what;
  int loops;  // convolutions in the tile loop
  const char* graph;
  SymbolValues symbols = {};
};
const ConvCase kConvCases[] = {
    {"padded, pointwise with stride, dilated with a residual", 3, R"(graph g(%x: f32[2,64,13,11]) -> (%y) {
      constant %w: f32[72,64,3,3] = random(1)
      constant %b: f32[72] = random(2)
      constant %v: f32[72,72,1,1] = random(3)
      constant %u: f32[72,72,3,3] = random(4)
      constant %scale: f32[] = {0.02}
      %n = Mul(%x, %scale)
      %c = Conv(%n, %w, %b) {pads = [1,1,1,1]}
      %r = Relu(%c)
      %d = Conv(%r, %v) {strides = [2,2]}
      %e = Conv(%d, %u) {pads = [2,2,2,2], dilations = [2,2]}
      %s = Add(%e, %d)
      %y = Neg(%s)
    })"},
    {"channels that are few, or no multiple of 64; strides; clipped", 2, R"(graph g(%x: f32[3,24,17,19]) -> (%y) {
      constant %w: f32[96,24,3,3] = random(1)
      constant %v: f32[136,96,1,1] = random(3)
      constant %low: f32[] = {0}
      constant %high: f32[] = {0.05}
      constant %scale: f32[] = {0.02}
      %n = Mul(%x, %scale)
      %c = Conv(%n, %w) {pads = [1,1,1,1], strides = [2,2]}
      %d = Clip(%c, %low, %high)
      %e = Conv(%d, %v)
      %y = Neg(%e)
    })"},
    {"other pads at the end, windows that are no squares", 2, R"(graph g(%x: f32[1,64,15,9]) -> (%y) {
      constant %w: f32[64,64,1,5] = random(1)
      constant %v: f32[64,64,3,2] = random(3)
      constant %scale: f32[] = {0.02}
      %n = Mul(%x, %scale)
      %c = Conv(%n, %w) {pads = [0,2,0,1], strides = [1,2]}
      %e = Conv(%c, %v) {pads = [0,1,2,0], strides = [3,1]}
      %y = Neg(%e)
    })"},
    {"images of any size",
     2,
     R"(graph g(%x: f32[n,64,h,w]) -> (%y) {
      constant %w: f32[64,64,3,3] = random(1)
      constant %v: f32[72,64,3,3] = random(3)
      constant %scale: f32[] = {0.02}
      %a = Mul(%x, %scale)
      %c = Conv(%a, %w) {pads = [1,1,1,1]}
      %e = Conv(%c, %v) {pads = [1,1,1,1]}
      %y = Neg(%e)
    })",
     {{"n", 2}, {"h", 9}, {"w", 14}}},
    {"one dimension", 1, R"(graph g(%x: f32[2,64,45]) -> (%y) {
      constant %w: f32[80,64,3] = random(1)
      constant %scale: f32[] = {0.02}
      %n = Mul(%x, %scale)
      %c = Conv(%n, %w) {pads = [1,1], strides = [2]}
      %y = Neg(%c)
    })"},
};

TEST_P(ConvLoop, EveryTileComputesEveryConvolution) {
  const Target target = gpu_target(GetParam().target, GetParam().precision);
  int number = GetParam().precision == Precision::bf16 ? 3 : 0;
  for (const ConvCase& c : kConvCases)
    for (int blocks : {1, 3}) {
      SCOPED_TRACE(concat(c.what, ", tile ", number, ", blocks ", blocks));
      int count = 0;
      expect_simulates(c.graph, target, GetParam().tolerance, c.symbols, conv_in_tile(target, number++, blocks, count));
      EXPECT_EQ(count, c.loops);
    }
}

/// Convolutions as in ResNet.
const char* const kResidual = R"(graph g(%x: f32[8,128,28,28], %r: f32[8,128,28,28]) -> (%y) {
  constant %u: f32[128,128,3,3] = random(1)
  constant %v: f32[512,128,1,1] = random(2)
  constant %w: f32[512,128,1,1] = random(3)
  constant %b: f32[512] = random(4)
  constant %t: f32[128,512,1,1] = random(5)
  %a = Conv(%x, %u) {pads = [1,1,1,1]}
  %c = Conv(%r, %u) {pads = [1,1,1,1]}
  %d = Conv(%a, %v, %b)
  %e = Conv(%c, %w, %b)
  %s = Add(%d, %e)
  %f = Relu(%s)
  %y = Conv(%f, %t)
})";

TEST_P(ConvLoop, ProductsAreNotSerialised) {
  const Target target = gpu_target(GetParam().target, GetParam().precision);
  if (cuda::Nvrtc::find_for_driver(target.driver) == nullptr) GTEST_SKIP() << "no NVRTC on this machine";
  const cuda::CubinCache cache{std::filesystem::path()};
  const Plan plan = cuda_plan(parse_graph(kResidual), target);
  for (const Kernel& k : plan.kernels) {
    if (!std::holds_alternative<PlainConvKernel>(k.body)) continue;
    const auto product = cuda::conv_product(k);
    for (const cuda::ProductTile& tile : loop_tiles(*product, target)) {
      const cuda::KernelText text = cuda::emit_product(k, *product, tile, "conv");
      SCOPED_TRACE(text.note);
      const cuda::AssembledProgram program = cuda::Assembler(target, cache).assemble(text.source, text.least_registers);
      const cuda::Usage usage = cuda::usage_of(program.log);
      EXPECT_TRUE(usage.notes.empty()) << (usage.notes.empty() ? "" : usage.notes[0]);
      EXPECT_EQ(usage.spill_bytes, 0);
    }
  }
}

}  // namespace
}  // namespace gcg::test
