// The real assembler's code of contractions: no spills, for any tile that the cost model may choose. Skipped without
// NVRTC. Tests a sample of tiles per GPU; with GCC_GRAPH_ALL_TILES=1 all tiles, and prints a line for each.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>

#include "codegen/cuda/assembler/assemble.h"
#include "codegen/cuda/contractions/product.h"
#include "compiler/gir/gir.h"
#include "compiler/support/error.h"
#include "tests/cuda/contractions/simulated_run.h"

namespace gcg::test {
namespace {

const char* const kMatMul = R"(graph g(%a: f32[512,1024], %b: f32[1024,768], %c: f32[768], %r: f32[512,768]) -> (%y) {
  %p = MatMul(%a, %b)
  %s = Add(%p, %c)
  %t = Relu(%s)
  %y = Add(%t, %r)
})";
const char* const kVector = R"(graph g(%a: f32[1,2048], %b: f32[2048,1000], %c: f32[1000]) -> (%y) {
  %p = MatMul(%a, %b)
  %y = Add(%p, %c)
})";
const char* const kTransposedVectors = R"(graph g(%a: f32[8,768], %b: f32[50257,768]) -> (%y) {
  %t = Transpose(%b) {perm = [1,0]}
  %y = MatMul(%a, %t)
})";
/// Attention of 12 heads, with these numbers of queries and keys and this head size.
std::string attention(int queries, int keys, int size) {
  return concat("graph g(%q: f32[1,12,", queries, ",", size, "], %k: f32[1,12,", keys, ",", size, "], %v: f32[1,12,",
                keys, ",", size, "], %m: f32[1,1,1,", keys, R"(]) -> (%y) {
  %b = Transpose(%k) {perm = [0,1,3,2]}
  %s = MatMul(%q, %b)
  %t = Add(%s, %m)
  %p = Softmax(%t) {axis = -1}
  %o = MatMul(%p, %v)
  %y = Transpose(%o) {perm = [0,2,1,3]}
})");
}
const char* const kConv = R"(graph g(%x: f32[1,64,56,56], %r: f32[1,64,56,56]) -> (%y) {
  constant %w: f32[64,64,3,3] = random(1)
  constant %b: f32[64] = random(2)
  %c = Conv(%x, %w, %b) {pads = [1,1,1,1]}
  %s = Add(%c, %r)
  %y = Relu(%s)
})";

/// An epilogue that reads two operands of the result's shape.
const char* const kGatedMatMul =
    R"(graph g(%a: f32[512,1024], %b: f32[1024,768], %g: f32[512,768], %r: f32[512,768]) -> (%y) {
  %p = MatMul(%a, %b)
  %s = Mul(%p, %g)
  %y = Add(%s, %r)
})";
/// Operands are stored in 16 bits if the precision requires it.
const char* const kStoredMatMul = R"(graph g(%a: f32[512,1024], %r: f32[512,768]) -> (%y) {
  constant %w: f32[1024,768] = random(1)
  constant %c: f32[768] = random(2)
  %n = Neg(%a)
  %p = MatMul(%n, %w)
  %s = Add(%p, %c)
  %t = Relu(%s)
  %y = Add(%t, %r)
})";
const char* const kStoredVector = R"(graph g(%a: f32[8,2048]) -> (%y) {
  constant %w: f32[2048,1000] = random(1)
  %n = Neg(%a)
  %y = MatMul(%n, %w)
})";
const char* const kStoredTransposedVectors = R"(graph g(%a: f32[4,768]) -> (%y) {
  constant %w: f32[10000,768] = random(1)
  %t = Transpose(%w) {perm = [1,0]}
  %n = Neg(%a)
  %y = MatMul(%n, %t)
})";
const char* const kStoredConv = R"(graph g(%x: f32[1,64,56,56], %r: f32[1,64,56,56]) -> (%y) {
  constant %w: f32[64,64,3,3] = random(1)
  %n = Neg(%x)
  %c = Conv(%n, %w) {pads = [1,1,1,1]}
  %s = Add(%c, %r)
  %y = Relu(%s)
})";
const char* const kStem = R"(graph g(%x: f32[8,3,224,224]) -> (%y) {
  constant %w: f32[64,3,7,7] = random(1)
  constant %b: f32[64] = random(2)
  %c = Conv(%x, %w, %b) {pads = [3,3,3,3], strides = [2,2]}
  %y = Relu(%c)
})";
const char* const kStoredPointwise = R"(graph g(%x: f32[8,64,56,56]) -> (%y) {
  constant %w: f32[256,64,1,1] = random(1)
  %n = Neg(%x)
  %c = Conv(%n, %w)
  %y = Mul(%c, %c)
})";

struct AssemblyCase {
  const char* target;
  Precision precision;
};
const AssemblyCase kCases[] = {
    {"sm_75", Precision::fp32},  {"sm_75", Precision::fp16},   {"sm_80", Precision::fp32},  {"sm_86", Precision::fp32},
    {"sm_86", Precision::fp16},  {"sm_90a", Precision::fp32},  {"sm_90a", Precision::tf32}, {"sm_120", Precision::bf16},
    {"sm_80", Precision::bf16},  {"sm_89", Precision::fp16},   {"sm_75", Precision::bf16},  {"sm_87", Precision::bf16},
    {"sm_90a", Precision::fp16}, {"sm_100a", Precision::fp16}, {"sm_90", Precision::fp32},
};

class Assembly : public testing::TestWithParam<AssemblyCase> {
 protected:
  void SetUp() override {
    target_ = gpu_target(GetParam().target, GetParam().precision);
    if (cuda::Nvrtc::find_for_driver(target_.driver) == nullptr) GTEST_SKIP() << "no NVRTC on this machine";
  }

  void check(const char* gir, bool is_conv) {
    const Plan plan = cuda_plan(parse_graph(gir), target_);
    const Kernel& kernel = contraction(plan);
    const auto product = is_conv ? cuda::conv_product(kernel) : cuda::matmul_product(kernel);
    const auto tiles = cuda::product_tiles(target_, cuda::constraints_of(*product, target_));
    const bool all = std::getenv("GCC_GRAPH_ALL_TILES") != nullptr;
    for (size_t i = 0; i < tiles.size(); ++i) {
      cuda::ProductTile tile = tiles[i];
      tile.splits = i % 2 == 0 ? 1 : 2;
      // Tiles that differ only in the number of stages differ only in shared memory, so one of them is enough.
      const bool is_sample = tile.producers > 0 || tile.is_wide() ? tile.producers > 0 || tile.stages == 3
                             : all                                ? tile.stages == 2
                                                                  : i % (tiles.size() / 3) == 0;
      if (!is_sample) continue;
      if (tile.is_wide()) tile.splits = 1;
      assemble(cuda::emit_product(kernel, *product, tile, is_conv ? "conv" : "matmul"), tile, all);
      if (!tile.is_wide() || tile.columns > 128) continue;
      tile.splits = 2;
      assemble(cuda::emit_product(kernel, *product, tile, is_conv ? "conv" : "matmul"), tile, all);
    }
  }

  static const Kernel& contraction(const Plan& plan) {
    return *std::find_if(plan.kernels.begin(), plan.kernels.end(),
                         [](const Kernel& k) { return !std::holds_alternative<LoopKernel>(k.body); });
  }

  void assemble(const cuda::KernelText& text, const cuda::ProductTile& tile, bool print, int most_spill_bytes = 0) {
    const cuda::CubinCache cache{std::filesystem::path()};
    const cuda::Usage usage = cuda::usage_of(cuda::Assembler(target_, cache).assemble(text.source).log);
    EXPECT_TRUE(usage.notes.empty()) << target_.name << " " << text.note << ": "
                                     << (usage.notes.empty() ? "" : usage.notes[0]);
    EXPECT_LE(usage.spill_bytes, most_spill_bytes) << target_.name << " " << text.symbol << " " << text.note;
    EXPECT_GT(usage.registers, 0);
    if (print)
      std::printf("%s %s %s: %d registers, %lld shared bytes, %d threads, %d blocks at least\n", target_.name.c_str(),
                  text.symbol.substr(0, text.symbol.find('_')).c_str(), text.note.c_str(), usage.registers,
                  static_cast<long long>(text.shared_bytes), text.threads, tile.blocks);
  }

  Target target_;
};
std::string name_of_case(const testing::TestParamInfo<AssemblyCase>& info) {
  return concat(info.param.target, "_", static_cast<int>(info.param.precision));
}
INSTANTIATE_TEST_SUITE_P(Targets, Assembly, testing::ValuesIn(kCases), name_of_case);

TEST_P(Assembly, VectorsDoNotSpill) {
  for (const char* gir : {kVector, kTransposedVectors, kStoredVector, kStoredTransposedVectors}) {
    const Plan plan = cuda_plan(parse_graph(gir), target_);
    const cuda::KernelText text = cuda::emit_matmul(contraction(plan), target_);
    EXPECT_NE(text.symbol.find("_vector_"), std::string::npos);
    assemble(text, {}, false);
    for (const cuda::KernelText& then : text.then) assemble(then, {}, false);
  }
}
TEST_P(Assembly, NoCandidateOfTuningSpillsMuch) {
  constexpr int kMostBytes = 64;  // tuning measures such a candidate, so a small spill does no harm
  const size_t each = std::getenv("GCC_GRAPH_ALL_TILES") != nullptr ? 1 : 4;
  for (const std::string& gir :
       {std::string(kVector), std::string(kTransposedVectors), attention(384, 384, 64), attention(50, 50, 128)}) {
    const Plan plan = cuda_plan(parse_graph(gir), target_);
    Target target = target_;
    for (size_t i = 0, count = 1; i < count; ++i) {
      const ForcedChoice choice(i);
      target.decisions = &choice;
      const cuda::KernelText text = cuda::emit_kernel(contraction(plan), target);
      count = choice.count();
      // `check` assembles a sample of the tiles of products.
      if (i % each == 0 && (text.symbol.find("_vector_") != std::string::npos || text.symbol.starts_with("attention_")))
        assemble(text, {}, false, kMostBytes);
    }
  }
}
TEST_P(Assembly, AttentionDoesNotSpill) {
  for (const std::string& gir :
       {attention(384, 384, 64), attention(1, 1024, 64), attention(2048, 2048, 128), attention(50, 50, 32)}) {
    const Plan plan = cuda_plan(parse_graph(gir), target_);
    const cuda::KernelText text = cuda::emit_kernel(plan.kernels.front(), target_);
    EXPECT_EQ(text.symbol.find("attention_"), 0U) << text.symbol;
    assemble(text, {}, std::getenv("GCC_GRAPH_ALL_TILES") != nullptr);
  }
}
TEST_P(Assembly, MatricesDoNotSpill) { check(kMatMul, false); }
TEST_P(Assembly, EpiloguesDoNotSpill) { check(kGatedMatMul, false); }
TEST_P(Assembly, ConvolutionsDoNotSpill) {
  check(kConv, true);
  check(kStem, true);
}
TEST_P(Assembly, StoredMatricesDoNotSpill) { check(kStoredMatMul, false); }
TEST_P(Assembly, StoredConvolutionsDoNotSpill) {
  check(kStoredConv, true);
  check(kStoredPointwise, true);
}

}  // namespace
}  // namespace gcg::test
