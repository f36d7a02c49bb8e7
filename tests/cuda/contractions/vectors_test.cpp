// Products of few rows on tensor cores straight from memory: values on the simulated GPU, the form that is chosen, and
// what the real assembler makes of it.
#include <gtest/gtest.h>

#include "codegen/cuda/assembler/assemble.h"
#include "codegen/cuda/contractions/vector_product.h"
#include "compiler/gir/gir.h"
#include "compiler/support/error.h"
#include "tests/cuda/contractions/simulated_run.h"

namespace gcg::test {
namespace {

struct VectorCase {
  const char* what;
  const char* graph;
  int few;
};
const VectorCase kVectors[] = {
    {"a row of inputs, times constants, with bias", R"(graph g(%a: f32[1,512]) -> (%y) {
      constant %w: f32[512,96] = random(1)
      constant %c: f32[96] = random(2)
      %p = MatMul(%a, %w)
      %s = Add(%p, %c)
      %y = Relu(%s)
    })",
     1},
    {"rows that end within a tile, a depth that ends within a piece", R"(graph g(%a: f32[3,264]) -> (%y) {
      constant %w: f32[264,50] = random(1)
      %n = Neg(%a)
      %y = MatMul(%n, %w)
    })",
     3},
    {"nine rows of two dimensions", R"(graph g(%a: f32[3,3,328], %r: f32[3,3,40]) -> (%y) {
      constant %w: f32[328,40] = random(1)
      %n = Neg(%a)
      %p = MatMul(%n, %w)
      %y = Add(%p, %r)
    })",
     9},
    {"sixteen rows, more tiles than blocks", R"(graph g(%a: f32[16,256]) -> (%y) {
      constant %w: f32[256,6500] = random(1)
      %n = Neg(%a)
      %y = MatMul(%n, %w)
    })",
     16},
    {"a matrix of results", R"(graph g(%a: f32[2,512], %b: f32[72,512]) -> (%y) {
      %m = Neg(%a)
      %n = Neg(%b)
      %t = Transpose(%n) {perm = [1,0]}
      %y = MatMul(%m, %t)
    })",
     2},
    {"constants times a column", R"(graph g(%a: f32[512,1]) -> (%y) {
      constant %w: f32[90,512] = random(1)
      %n = Neg(%a)
      %y = MatMul(%w, %n)
    })",
     1},
    {"a batch of queries over cached keys", R"(graph g(%a: f32[2,3,1,256], %b: f32[2,3,37,256]) -> (%y) {
      %m = Neg(%a)
      %n = Neg(%b)
      %t = Transpose(%n) {perm = [0,1,3,2]}
      %s = MatMul(%m, %t)
      %y = Sigmoid(%s)
    })",
     1},
};

struct VectorTarget {
  const char* name;
  Precision precision;
  double tolerance;
};
const VectorTarget kTargets[] = {
    {"sm_90a", Precision::fp16, 1e-2}, {"sm_80", Precision::fp16, 1e-2}, {"sm_120", Precision::bf16, 6e-2}};

std::string last_note(const SimulatedRun& run) { return run.notes.empty() ? "" : run.notes.back(); }

TEST(Vectors, ByTensorCores) {
  for (const VectorTarget& target : kTargets)
    for (const VectorCase& c : kVectors) {
      SCOPED_TRACE(concat(target.name, ", ", c.what));
      const SimulatedRun run = expect_simulates(c.graph, gpu_target(target.name, target.precision), target.tolerance);
      EXPECT_NE(last_note(run).find(concat("vectors of ", c.few, ", tensor cores")), std::string::npos)
          << last_note(run);
    }
}

TEST(Vectors, EveryForm) {
  Target target = gpu_target("sm_90a", Precision::fp16);
  for (const VectorCase& c : {kVectors[1], kVectors[2]})
    for (size_t i = 0; i < 4; ++i) {
      const ForcedChoice choice(i);
      target.decisions = &choice;
      const SimulatedRun run = expect_simulates(c.graph, target, 1e-2);
      EXPECT_NE(last_note(run).find("tensor cores"), std::string::npos) << last_note(run);
    }
}

/// Which products keep other forms: those of more rows, of a depth that a few pieces cover, of lines that lie across
/// the depth, and in f32.
TEST(Vectors, NotForOthers) {
  const Target half = gpu_target("sm_80", Precision::fp16);
  const char* const others[] = {
      R"(graph g(%a: f32[17,512]) -> (%y) {
        constant %w: f32[512,64] = random(1)
        %y = MatMul(%a, %w)
      })",
      R"(graph g(%a: f32[2,128]) -> (%y) {
        constant %w: f32[128,64] = random(1)
        %y = MatMul(%a, %w)
      })",
      R"(graph g(%a: f32[2,512], %b: f32[512,64]) -> (%y) {
        %n = Neg(%b)
        %y = MatMul(%a, %n)
      })"};
  for (const char* graph : others) {
    const SimulatedRun run = expect_simulates(graph, half, 1e-2);
    EXPECT_EQ(last_note(run).find("tensor cores"), std::string::npos) << last_note(run);
  }
  const SimulatedRun run = expect_simulates(kVectors[0].graph, gpu_target("sm_90a"), 1e-5);
  EXPECT_EQ(last_note(run).find("tensor cores"), std::string::npos) << last_note(run);
}

/// Weights that memory gives at full speed want 27 to 33 KB under way on each multiprocessor of an H200.
TEST(Vectors, EnoughBytesUnderWay) {
  for (const int columns : {768, 4096, 14336, 50304, 128256}) {
    const std::string gir = concat("graph g(%a: f32[1,4096], %w: f32[", columns, R"(,4096]) -> (%y) {
      %n = Neg(%w)
      %t = Transpose(%n) {perm = [1,0]}
      %y = MatMul(%a, %t)
    })");
    const Target target = gpu_target("sm_90a", Precision::fp16);
    const Plan plan = cuda_plan(parse_graph(gir), target);
    const Kernel& kernel = plan.kernels.back();
    const auto forms = cuda::vector_forms(kernel, target, *cuda::matmul_product(kernel), true);
    ASSERT_FALSE(forms.empty());
    EXPECT_GE(forms[0].warps * forms[0].unroll * forms[0].blocks * 2048, 33 << 10) << describe(forms[0]);
  }
}

TEST(Vectors, AssembledWithoutSpills) {
  for (const VectorTarget& t : kTargets) {
    Target target = gpu_target(t.name, t.precision);
    if (cuda::Nvrtc::find_for_driver(target.driver) == nullptr) GTEST_SKIP() << "no NVRTC on this machine";
    const cuda::Assembler assembler(target, cuda::CubinCache(std::filesystem::path()));
    for (const VectorCase& c : kVectors) {
      const Plan plan = cuda_plan(parse_graph(c.graph), target);
      for (size_t i = 0; i < 4; ++i) {
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
