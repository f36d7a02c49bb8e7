// Products of few rows by packed low-bit weights: results on the simulated GPU, and the real assembler's
// code.
#include <gtest/gtest.h>

#include "codegen/cuda/assembler/assemble.h"
#include "compiler/gir/gir.h"
#include "compiler/ops/infer.h"
#include "compiler/passes/keep_quantized_weights.h"
#include "compiler/support/error.h"
#include "tests/cuda/contractions/simulated_run.h"

namespace gcg::test {
namespace {

struct BlockCase {
  const char* what;
  int rows, depth, columns, block;  // block 0: a scale for each column
  const char* type;                 // of the weights
  bool zeros;
  const char* tail;  // the operators after the product %p
};
const BlockCase kBlocks[] = {
    {"4 bits, blocks of 32", 1, 512, 128, 32, "u4", false, "%y = Relu(%p)"},
    {"4 bits with zero points, columns within a panel", 3, 512, 130, 32, "u4", true, "%y = Relu(%p)"},
    {"blocks of 16", 2, 1024, 64, 16, "i4", true, "%y = Relu(%p)"},
    {"blocks of 64, a depth that ends within a piece", 1, 864, 80, 64, "u4", true, "%y = Relu(%p)"},
    {"blocks of 128", 5, 512, 144, 128, "i4", false, "%y = Relu(%p)"},
    {"8 bits, a scale a column", 1, 520, 130, 0, "i8", false, "%y = Relu(%p)"},
    {"8 bits with zero points, blocks of 32", 4, 640, 112, 32, "u8", true, "%y = Relu(%p)"},
    {"more columns than 132 panels", 1, 256, 6400, 32, "u4", false, "%y = Add(%p, %r)"},
};

/// x is an operator's result, stored in 16 bits if the precision requires it.
std::string graph_of(const BlockCase& c) {
  const std::string scales =
      c.block == 0 ? concat(c.columns) : concat(c.columns, ",", (c.depth + c.block - 1) / c.block);
  const std::string zero = c.zeros ? concat("constant %z: ", c.type, "[", scales, "] = random(3)\n") : "";
  const std::string how = c.block == 0 ? "{axis = 0}" : concat("{axis = 1, block_size = ", c.block, "}");
  return concat("graph g(%x: f32[", c.rows, ",", c.depth, "], %r: f32[", c.columns,
                "]) -> (%y) {\nconstant %q: ", c.type, "[", c.columns, ",", c.depth, "] = random(1)\nconstant %s: f32[",
                scales, "] = random(2)\n", zero, "%n = Neg(%x)\n%w = DequantizeLinear(%q, %s",
                c.zeros ? ", %z) " : ") ", how, "\n%t = Transpose(%w) {perm = [1,0]}\n%p = MatMul(%n, %t)\n", c.tail,
                "\n}");
}

/// The graph with the product by packed weights.
std::string kept(const BlockCase& c) {
  Graph graph = parse_graph(graph_of(c));
  infer_graph(graph);
  EXPECT_TRUE(keep_quantized_weights(graph)) << c.what;
  return print_graph(graph);
}

struct BlockTarget {
  const char* name;
  Precision precision;
  double tolerance;  // sums have large terms of both signs with rounded factors; weights are exact
};
const BlockTarget kTargets[] = {
    {"sm_90a", Precision::fp32, 4e-5}, {"sm_90a", Precision::fp16, 3e-2}, {"sm_80", Precision::bf16, 3e-1}};

TEST(BlockWeights, StayPacked) {
  for (const BlockTarget& t : kTargets)
    for (const BlockCase& c : kBlocks) {
      SCOPED_TRACE(concat(t.name, " ", name_of(t.precision), ": ", c.what));
      const SimulatedRun run = expect_simulates(kept(c), gpu_target(t.name, t.precision), t.tolerance);
      EXPECT_EQ(run.kernels.back(), "matmul_blocks");
    }
}

TEST(BlockWeights, EveryForm) {
  Target target = gpu_target("sm_90a", Precision::fp16);
  for (const BlockCase& c : {kBlocks[1], kBlocks[6]})
    for (size_t i = 0, count = 1; i < count; ++i) {
      const ForcedChoice choice(i);
      target.decisions = &choice;
      EXPECT_EQ(expect_simulates(kept(c), target, 3e-2).kernels.back(), "matmul_blocks");
      count = choice.count();
    }
}

/// Weights are widened to floats for more rows, for blocks that do not fit a warp's share, and for GPUs without such
/// kernels.
TEST(BlockWeights, BecomeFloatsForOthers) {
  const auto last = [](const BlockCase& c, const Target& target) {
    return expect_simulates(kept(c), target, 3e-2).kernels.back();
  };
  BlockCase many = kBlocks[0], odd = kBlocks[0];
  many.rows = 17;
  odd.block = 48;
  EXPECT_NE(last(many, gpu_target("sm_90a", Precision::fp16)), "matmul_blocks");
  EXPECT_NE(last(odd, gpu_target("sm_90a", Precision::fp16)), "matmul_blocks");
  EXPECT_NE(last(kBlocks[0], gpu_target("sm_75", Precision::fp16)), "matmul_blocks");
}

TEST(BlockWeights, AssembledWithoutSpills) {
  for (const BlockTarget& t : kTargets) {
    Target target = gpu_target(t.name, t.precision);
    if (cuda::Nvrtc::find_for_driver(target.driver) == nullptr) GTEST_SKIP() << "no NVRTC on this machine";
    const cuda::CubinCache cache{std::filesystem::path()};
    const cuda::Assembler assembler(target, cache);
    for (const BlockCase& c : kBlocks) {
      const Plan plan = cuda_plan(parse_graph(kept(c)), target);
      for (size_t i = 0; i < 2; ++i) {
        const ForcedChoice choice(i);
        target.decisions = &choice;
        const cuda::KernelText text =
            cuda::emit_kernel(plan.kernels[plan.entry().steps.back().as<Launch>()->kernel], target);
        const cuda::Usage usage = cuda::usage_of(assembler.assemble(text.source).log);
        EXPECT_EQ(usage.spill_bytes, 0) << t.name << ", " << c.what << ": " << text.note;
        if (std::getenv("GCC_GRAPH_ALL_TILES") != nullptr)
          std::printf("%s, %s: %d registers, %s\n", t.name, c.what, usage.registers, text.note.c_str());
      }
      target.decisions = nullptr;
    }
  }
}

}  // namespace
}  // namespace gcg::test
