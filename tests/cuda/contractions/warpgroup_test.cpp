// Products of warpgroups (wgmma, sm_90a) on the simulated GPU: every tile over odd and even extents, and planted bugs.
#include <gtest/gtest.h>

#include "codegen/cuda/contractions/product.h"
#include "compiler/gir/gir.h"
#include "compiler/support/error.h"
#include "tests/cuda/contractions/simulated_run.h"

namespace gcg::test {
namespace {

struct WideCase {
  const char* what;
  const char* graph;
  SymbolValues symbols = {};
};
const WideCase kCases[] = {
    {"lines of weights along the columns", R"(graph g(%x: f32[72,136]) -> (%y) {
      constant %w: f32[136,152] = random(1)
      constant %b: f32[152] = random(2)
      %a = Relu(%x)
      %p = MatMul(%a, %w)
      %q = Add(%p, %b)
      %y = Relu(%q)
    })"},
    {"lines along the depth, a residual", R"(graph g(%x: f32[40,200], %z: f32[72,200], %r: f32[40,72]) -> (%y) {
      %a = Neg(%x)
      %b = Neg(%z)
      %t = Transpose(%b) {perm = [1,0]}
      %p = MatMul(%a, %t)
      %y = Add(%p, %r)
    })"},
    {"both across the depth, a batch", R"(graph g(%x: f32[2,72,96], %z: f32[2,72,80]) -> (%y) {
      %a = Neg(%x)
      %b = Neg(%z)
      %s = Transpose(%a) {perm = [0,2,1]}
      %y = MatMul(%s, %b)
    })"},
    {"odd extents of floats, through registers",
     R"(graph g(%x: f32[m,53], %z: f32[53,n]) -> (%y) {
      %y = MatMul(%x, %z)
    })",
     {{"m", 67}, {"n", 71}}},
    {"a convolution of whole taps", R"(graph g(%x: f32[1,64,9,8]) -> (%y) {
      constant %w: f32[72,64,3,3] = random(1)
      constant %b: f32[72] = random(2)
      %a = Neg(%x)
      %c = Conv(%a, %w, %b) {pads = [1,1,1,1], strides = [1,1]}
      %y = Relu(%c)
    })"},
    {"a pointwise convolution of a batch", R"(graph g(%x: f32[2,40,8,8]) -> (%y) {
      constant %w: f32[96,40,1,1] = random(1)
      %a = Neg(%x)
      %y = Conv(%a, %w)
    })"},
};

const ContractionCase kArithmetics[] = {{"sm_90a", Precision::fp16, 2e-2}, {"sm_90a", Precision::bf16, 1e-1}};

class Warpgroups : public testing::TestWithParam<ContractionCase> {};
INSTANTIATE_TEST_SUITE_P(Arithmetics, Warpgroups, testing::ValuesIn(kArithmetics), case_name);

/// Emits contractions in the `number`-th tile for warpgroups with this many stages and splits.
Emit in_tile(const Target& target, int number, int stages, int splits, bool& exists) {
  return [=, &exists](const Kernel& kernel) {
    const bool is_conv = std::holds_alternative<PlainConvKernel>(kernel.body);
    if (!is_conv && !std::holds_alternative<MatMulKernel>(kernel.body)) return cuda::emit_kernel(kernel, target);
    const auto product = is_conv ? cuda::conv_product(kernel) : cuda::matmul_product(kernel);
    std::vector<cuda::ProductTile> wide;
    for (const cuda::ProductTile& tile : cuda::product_tiles(target, cuda::constraints_of(*product, target)))
      if (tile.is_wide() && tile.stages == stages) wide.push_back(tile);
    exists = number < static_cast<int>(wide.size());
    cuda::ProductTile tile = wide[static_cast<size_t>(exists ? number : 0)];
    tile.splits = tile.columns > 128 ? 1 : splits;
    return cuda::emit_product(kernel, *product, tile, is_conv ? "conv" : "matmul");
  };
}

TEST_P(Warpgroups, EveryTileComputesEveryProduct) {
  const Target target = gpu_target(GetParam().target, GetParam().precision);
  int number = 0;
  for (const WideCase& c : kCases)
    for (int i = 0; i < 2; ++i, number = (number + 1) % 6) {
      SCOPED_TRACE(concat(c.what, ", tile ", number));
      bool exists = true;
      const int stages = 3 + i % 2;
      const SimulatedRun run = expect_simulates(c.graph, target, GetParam().tolerance, c.symbols,
                                                in_tile(target, number, stages, 1 + number % 2, exists));
      bool is_wide = false;
      for (const std::string& note : run.notes) is_wide |= note.find("wgmma") != std::string::npos;
      EXPECT_TRUE(is_wide);
    }
}

TEST(WarpgroupChoice, LargeProductsOnly) {
  const char* const graphs[] = {R"(graph g(%x: f32[2048,2048]) -> (%y) {
    constant %w: f32[2048,2048] = fill(0.5)
    %a = Neg(%x)
    %y = MatMul(%a, %w)
  })"};
  const auto note = [&](const char* target) {
    const Target t = gpu_target(target, Precision::fp16);
    const Plan plan = cuda_plan(parse_graph(graphs[0]), t);
    for (const Kernel& k : plan.kernels)
      if (std::holds_alternative<MatMulKernel>(k.body)) return cuda::emit_kernel(k, t).note;
    return std::string();
  };
  EXPECT_NE(note("sm_90a").find("wgmma"), std::string::npos) << note("sm_90a");
  for (const char* target : {"sm_80", "sm_100a", "sm_120"})
    EXPECT_EQ(note(target).find("wgmma"), std::string::npos) << target;
}

}  // namespace
}  // namespace gcg::test
