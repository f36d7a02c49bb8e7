// Products whose operands the GPU copies itself (TMA, sm_90a), on the simulated GPU: every tile with odd and even
// extents, and the conditions for having and choosing such tiles.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "codegen/cuda/contractions/product.h"
#include "compiler/gir/gir.h"
#include "compiler/support/error.h"
#include "tests/cuda/contractions/simulated_run.h"

namespace gcg::test {
namespace {

struct BoxCase {
  const char* what;
  const char* graph;
  SymbolValues symbols = {};
};
const BoxCase kCases[] = {
    {"weights across the depth, rows and depths that no tile divides", R"(graph g(%x: f32[71,136]) -> (%y) {
      constant %w: f32[136,152] = random(1)
      constant %b: f32[152] = random(2)
      %a = Neg(%x)
      %p = MatMul(%a, %w)
      %q = Add(%p, %b)
      %y = Relu(%q)
    })"},
    {"odd rows, a residual", R"(graph g(%x: f32[37,200], %z: f32[200,72], %r: f32[37,72]) -> (%y) {
      %a = Neg(%x)
      %b = Neg(%z)
      %p = MatMul(%a, %b)
      %y = Add(%p, %r)
    })"},
    {"a batch", R"(graph g(%x: f32[3,65,72], %z: f32[3,72,80]) -> (%y) {
      %a = Neg(%x)
      %b = Neg(%z)
      %y = MatMul(%a, %b)
    })"},
    {"a batch of two axes, the right factor shared by one of them",
     R"(graph g(%x: f32[2,3,33,72], %z: f32[2,1,72,40]) -> (%y) {
      %a = Neg(%x)
      %b = Neg(%z)
      %y = MatMul(%a, %b)
    })"},
    {"extents that are known when it runs",
     R"(graph g(%x: f32[b,m,88], %r: f32[b,m,96]) -> (%y) {
      constant %w: f32[88,96] = random(3)
      %a = Neg(%x)
      %p = MatMul(%a, %w)
      %y = Mul(%p, %r)
    })",
     {{"b", 2}, {"m", 67}}},
};

const ContractionCase kArithmetics[] = {{"sm_90a", Precision::fp16, 2e-2}, {"sm_90a", Precision::bf16, 1e-1}};

class TmaTiles : public testing::TestWithParam<ContractionCase> {};
INSTANTIATE_TEST_SUITE_P(Arithmetics, TmaTiles, testing::ValuesIn(kArithmetics), case_name);

std::vector<cuda::ProductTile> fed_tiles(const cuda::Product& product, const Target& target) {
  std::vector<cuda::ProductTile> fed;
  for (const cuda::ProductTile& tile : cuda::product_tiles(target, cuda::constraints_of(product, target)))
    if (tile.producers > 0) fed.push_back(tile);
  return fed;
}

/// Emits products in the `number`-th tile of TMA, with this many stages and splits.
Emit in_tile(const Target& target, int number, int stages, int splits) {
  return [=](const Kernel& kernel) {
    if (!std::holds_alternative<MatMulKernel>(kernel.body)) return cuda::emit_kernel(kernel, target);
    const auto product = cuda::matmul_product(kernel);
    const auto fed = fed_tiles(*product, target);
    EXPECT_LT(number, static_cast<int>(fed.size()));
    if (fed.empty()) return cuda::emit_kernel(kernel, target);
    cuda::ProductTile tile = fed[static_cast<size_t>(number) % fed.size()];
    tile.stages = stages;  // fewer than shared memory has room for
    tile.splits = tile.columns > 128 ? 1 : splits;
    return cuda::emit_product(kernel, *product, tile, "matmul");
  };
}

TEST_P(TmaTiles, EveryTileComputesEveryProduct) {
  const Target target = gpu_target(GetParam().target, GetParam().precision);
  int number = 0;
  for (const BoxCase& c : kCases)
    for (int i = 0; i < 2; ++i, number = (number + 1) % 8) {
      SCOPED_TRACE(concat(c.what, ", tile ", number));
      const SimulatedRun run = expect_simulates(c.graph, target, GetParam().tolerance, c.symbols,
                                                in_tile(target, number, 3 + i, 1 + number % 2));
      EXPECT_TRUE(std::any_of(run.notes.begin(), run.notes.end(),
                              [](const std::string& note) { return note.find("wgmma, TMA") != std::string::npos; }));
    }
}

/// Declares that the product's factors have the other layout: columns instead of rows are contiguous, or the reverse.
Kernel turned(Kernel kernel, bool left, bool right) {
  auto& mm = std::get<MatMulKernel>(kernel.body);
  if (left) mm.a.row_stride = 1, mm.a.column_stride = mm.m.extent;
  if (right) mm.b.row_stride = 1, mm.b.column_stride = mm.k.extent;
  return kernel;
}

TEST(TmaOrder, LinesAlongAndAcrossTheDepth) {
  constexpr int64_t kRows = 72, kColumns = 88, kDepth = 136;
  const Target target = gpu_target("sm_90a", Precision::fp16);
  const Graph graph = parse_graph(R"(graph g(%x: f32[72,136], %z: f32[136,88]) -> (%y) {
    %a = Neg(%x)
    %b = Neg(%z)
    %y = MatMul(%a, %b)
  })");
  Tensor x(DType::f32, {kRows, kDepth}), z(DType::f32, {kDepth, kColumns});
  for (int64_t i = 0; i < x.elements(); ++i) x.set_double(i, static_cast<double>(i * 37 % 101) / 101 - 0.5);
  for (int64_t i = 0; i < z.elements(); ++i) z.set_double(i, static_cast<double>(i * 53 % 97) / 97 - 0.5);
  for (int order = 0; order < 4; ++order) {
    const bool left = order % 2 != 0, right = order / 2 != 0;
    Kernel kernel;  // the product keeps a reference to this kernel
    const Emit emit = [&](const Kernel& k) {
      if (!std::holds_alternative<MatMulKernel>(k.body)) return cuda::emit_kernel(k, target);
      kernel = turned(k, left, right);
      return in_tile(target, order + 1, 3, 1)(kernel);
    };
    const SimulatedRun run = run_simulated(graph, {x, z}, target, {}, emit);
    for (int64_t m = 0; m < kRows; ++m)
      for (int64_t n = 0; n < kColumns; ++n) {
        double sum = 0;
        for (int64_t k = 0; k < kDepth; ++k)
          sum += x.at_double(left ? k * kRows + m : m * kDepth + k) *
                 z.at_double(right ? n * kDepth + k : k * kColumns + n);
        ASSERT_NEAR(run.outputs[0].at_double(m * kColumns + n), sum, 2e-2 * (1 + std::abs(sum)))
            << order << " " << m << " " << n;
      }
  }
}

/// The kernel of the graph's product.
Kernel product_kernel(const char* graph, const Target& target) {
  const Plan plan = cuda_plan(parse_graph(graph), target);
  for (const Kernel& k : plan.kernels)
    if (std::holds_alternative<MatMulKernel>(k.body)) return k;
  ADD_FAILURE() << "no product";
  return {};
}

TEST(TmaChoice, OnlyOfRightElementsInRightSteps) {
  const Target target = gpu_target("sm_90a", Precision::fp16);
  const auto can = [&](const char* graph, const Target& t) {
    const Kernel kernel = product_kernel(graph, t);
    return cuda::constraints_of(*cuda::matmul_product(kernel), t).has_tma_views &&
           !fed_tiles(*cuda::matmul_product(kernel), t).empty();
  };
  const char* const good = R"(graph g(%x: f32[64,128]) -> (%y) {
    constant %w: f32[128,64] = random(1)
    %a = Neg(%x)
    %y = MatMul(%a, %w)
  })";
  EXPECT_TRUE(can(good, target));
  EXPECT_FALSE(can(good, gpu_target("sm_90a", Precision::tf32)));  // no 16-bit factors
  EXPECT_FALSE(can(good, gpu_target("sm_80", Precision::fp16)));
  const Kernel kernel = product_kernel(good, target);
  EXPECT_EQ(cuda::constraints_of(*cuda::matmul_product(kernel), target).box_bytes, 4) << "f32 results of the caller's";
  EXPECT_FALSE(can(R"(graph g(%x: f32[64,100]) -> (%y) {
    constant %w: f32[100,64] = random(1)
    %a = Neg(%x)
    %y = MatMul(%a, %w)
  })",
                   target))
      << "rows of 200 bytes";
  EXPECT_FALSE(can(R"(graph g(%x: f32[64,128], %z: f32[128,n]) -> (%y) {
    %a = Neg(%x)
    %b = Neg(%z)
    %y = MatMul(%a, %b)
  })",
                   target))
      << "rows of any length";
  EXPECT_TRUE(can(R"(graph g(%x: f32[b,m,128], %z: f32[b,128,64]) -> (%y) {
    %a = Neg(%x)
    %b = Neg(%z)
    %y = MatMul(%a, %b)
  })",
                  target))
      << "any number of rows and products";
}

/// A tensor map needs aligned strides, each a multiple of the one before.
TEST(TmaChoice, StridesAsTheDriverDocumentsThem) {
  using View = cuda::Product::TmaView;
  const auto takes = [](std::vector<Dim> strides) {
    View view;
    view.stored = DType::f16;
    const char kinds[] = {'d', 'r', 'b', 'b'};
    for (size_t d = 0; d < strides.size(); ++d) view.dimensions.push_back({64, strides[d], "0", kinds[d]});
    return cuda::as_tma_view(view).has_value();
  };
  EXPECT_TRUE(takes({1, 64, 4096}));
  EXPECT_TRUE(takes({1, Dim::symbol("s") * 64, Dim::symbol("s") * 128}));
  EXPECT_FALSE(takes({1, 64, 96}));                                        // no multiple of 64
  EXPECT_FALSE(takes({1, Dim::symbol("s") * 64, Dim::symbol("t") * 64}));  // nobody knows
  EXPECT_FALSE(takes({1, 60, 3840}));                                      // 120 bytes
  EXPECT_FALSE(takes({1, 64, 0}));                                         // broadcast
  EXPECT_FALSE(takes({2, 64, 4096}));                                      // no contiguous line
}

TEST(TmaChoice, ForMatricesOfAnySize) {
  const Target target = gpu_target("sm_90a", Precision::fp16);
  const auto note = [&](int rows, int depth, int columns) {
    const std::string graph = concat("graph g(%x: f32[", rows, ",", depth, "]) -> (%y) {\n  constant %w: f32[", depth,
                                     ",", columns, "] = fill(0.5)\n  %a = Neg(%x)\n  %y = MatMul(%a, %w)\n}");
    return cuda::emit_kernel(product_kernel(graph.c_str(), target), target).note;
  };
  const auto expect = [](const std::string& chosen, const char* tile) {
    EXPECT_NE(chosen.find(tile), std::string::npos) << chosen;
    EXPECT_NE(chosen.find("TMA"), std::string::npos) << chosen;
  };
  // These tiles were the fastest on an H200, within 3 %.
  expect(note(4096, 4096, 4096), "128x256");
  expect(note(3072, 768, 3072), "128x192");
  expect(note(1024, 1024, 1024), "64x128");
}

TEST(TmaChoice, TuningHearsOfBothWays) {
  const Target target = gpu_target("sm_90a", Precision::fp16);
  const Kernel kernel = product_kernel(R"(graph g(%x: f32[1024,1024]) -> (%y) {
    constant %w: f32[1024,1024] = fill(0.5)
    %a = Neg(%x)
    %y = MatMul(%a, %w)
  })",
                                       target);
  const auto product = cuda::matmul_product(kernel);
  const auto tiles =
      cuda::best_product_tiles(target, {1, 1024, 1024, 1024, 2, 2, 4}, cuda::constraints_of(*product, target), 16);
  const auto fed = std::count_if(tiles.begin(), tiles.end(), [](const auto& t) { return t.producers > 0; });
  EXPECT_GE(fed, 3);
  EXPECT_GE(static_cast<int64_t>(tiles.size()) - fed, 3);
}

}  // namespace
}  // namespace gcg::test
