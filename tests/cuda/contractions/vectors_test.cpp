// Products of few rows on tensor cores straight from memory: results on the simulated GPU, the chosen tiling, and the
// real assembler's code.
#include <elf.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>

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
    for (size_t i = 0; i < (c.few > 8 ? 1U : 4U); ++i) {
      const ForcedChoice choice(i);
      target.decisions = &choice;
      const SimulatedRun run = expect_simulates(c.graph, target, 1e-2);
      EXPECT_NE(last_note(run).find("tensor cores"), std::string::npos) << last_note(run);
    }
}

/// Products that use other kernels: those with more rows, with a depth of few pieces, with weights not contiguous along
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

/// On an H200, reading weights at the full memory rate needs 27 to 33 KB in flight on each multiprocessor.
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
    const auto forms = cuda::vector_tilings(kernel, target, *cuda::matmul_product(kernel), true);
    ASSERT_FALSE(forms.empty());
    EXPECT_GE(forms[0].warps * forms[0].unroll * forms[0].blocks * 2048, 33 << 10) << describe(forms[0]);
  }
}

TEST(Vectors, AssembledWithoutSpills) {
  for (const VectorTarget& t : kTargets) {
    Target target = gpu_target(t.name, t.precision);
    if (cuda::Nvrtc::find_for_driver(target.driver) == nullptr) GTEST_SKIP() << "no NVRTC on this machine";
    const cuda::CubinCache cache{std::filesystem::path()};
    const cuda::Assembler assembler(target, cache);
    for (const VectorCase& c : kVectors) {
      const Plan plan = cuda_plan(parse_graph(c.graph), target);
      for (size_t i = 0; i < (c.few > 8 ? 1U : 4U); ++i) {
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

/// Counts the loads of 16 bytes before the wait for the previous launch, in the cubin's one function. -1: no wait.
/// An instruction takes 16 bytes.
int wide_loads_ahead(const std::vector<uint8_t>& cubin) {
  constexpr unsigned kWait = 0x82e, kLoad = 0x981, kWide = 6;
  Elf64_Ehdr header;
  std::memcpy(&header, cubin.data(), sizeof header);
  const auto section = [&](unsigned i) {
    Elf64_Shdr s;
    std::memcpy(&s, cubin.data() + header.e_shoff + i * sizeof s, sizeof s);
    return s;
  };
  const Elf64_Shdr names = section(header.e_shstrndx);
  int loads = 0;
  for (unsigned i = 0; i < header.e_shnum; ++i) {
    const Elf64_Shdr s = section(i);
    const char* name = reinterpret_cast<const char*>(cubin.data() + names.sh_offset + s.sh_name);
    if (std::strncmp(name, ".text.", 6) != 0) continue;
    for (uint64_t at = 0; at + 16 <= s.sh_size; at += 16) {
      uint64_t words[2];
      std::memcpy(words, cubin.data() + s.sh_offset + at, sizeof words);
      if ((words[0] & 0xfff) == kWait) return loads;
      loads += (words[0] & 0xfff) == kLoad && (words[1] >> 9 & 7) == kWide;
    }
  }
  return -1;
}

/// To keep the memory busy, a warp requests all of its first pieces before the wait, with loads of 16 bytes into
/// registers.
TEST(Vectors, PiecesAreAskedForAheadOfTheWait) {
  Target target = gpu_target("sm_90a", Precision::fp16);
  if (cuda::Nvrtc::find_for_driver(target.driver) == nullptr) GTEST_SKIP() << "no NVRTC on this machine";
  const cuda::CubinCache cache{std::filesystem::path()};
  const cuda::Assembler assembler(target, cache);
  for (const int rows : {1, 16}) {
    const std::string gir = concat("graph g(%a: f32[", rows, R"(,4096]) -> (%y) {
      constant %w: f32[4096,256] = random(1)
      %n = Neg(%a)
      %y = MatMul(%n, %w)
    })");
    const Plan plan = cuda_plan(parse_graph(gir), target);
    const Kernel& kernel = plan.kernels[plan.entry().steps.back().as<Launch>()->kernel];
    const auto product = cuda::matmul_product(kernel);
    for (const cuda::VectorTiling& tiling : cuda::vector_tilings(kernel, target, *product, true)) {
      const cuda::KernelText text = cuda::emit_vectors(kernel, target, *product, true, tiling, "matmul");
      const cuda::AssembledProgram assembled = assembler.assemble(text.source);
      const cuda::Usage usage = cuda::usage_of(assembled.log);
      EXPECT_EQ(usage.spill_bytes, 0) << text.note;
      EXPECT_GE(usage.registers, 16 * tiling.unroll) << text.note;
      EXPECT_GE(wide_loads_ahead(assembled.code), 4 * tiling.unroll) << text.note;
      if (std::getenv("GCC_GRAPH_ALL_TILES") != nullptr)
        std::printf("%d rows: %d registers, %s\n", rows, usage.registers, text.note.c_str());
    }
  }
}

}  // namespace
}  // namespace gcg::test
