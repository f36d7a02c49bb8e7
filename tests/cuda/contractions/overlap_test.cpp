// Work of kernels before they wait for the previous launch (griddepcontrol.wait). Both the text and the assembler's
// code must read weights before the wait. The simulation (tests/cuda/sim) checks to which buffers the bytes belong.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "codegen/cuda/assembler/assemble.h"
#include "codegen/cuda/text/kernel_text.h"
#include "compiler/gir/gir.h"
#include "compiler/support/error.h"
#include "tests/cuda/contractions/machine_code.h"
#include "tests/cuda/contractions/simulated_run.h"

namespace gcg::test {
namespace {

struct OverlapCase {
  const char* name;
  const char* graph;
  std::vector<int> ahead;  // positions of operands
};
const OverlapCase kCases[] = {
    {"matmul",
     R"(graph g(%x: f32[512,1024]) -> (%y) {
      constant %w: f32[1024,768] = random(1)
      %a = Neg(%x)
      %y = MatMul(%a, %w)
    })",
     {0}},
    {"matmul_of_activations",
     R"(graph g(%x: f32[512,1024], %w: f32[1024,768]) -> (%y) {
      %y = MatMul(%x, %w)
    })",
     {}},
    {"vector_across",
     R"(graph g(%x: f32[1,2048]) -> (%y) {
      constant %w: f32[2048,1000] = random(1)
      %a = Neg(%x)
      %y = MatMul(%a, %w)
    })",
     {0}},
    {"vector_along",
     R"(graph g(%x: f32[4,768]) -> (%y) {
      constant %w: f32[10000,768] = random(1)
      %t = Transpose(%w) {perm = [1,0]}
      %a = Neg(%x)
      %y = MatMul(%a, %t)
    })",
     {0}},
    {"conv",
     R"(graph g(%x: f32[1,64,56,56]) -> (%y) {
      constant %w: f32[64,64,3,3] = random(1)
      %a = Neg(%x)
      %y = Conv(%a, %w) {pads = [1,1,1,1]}
    })",
     {0}},
    {"attention",
     R"(graph g(%q: f32[1,12,384,64], %k: f32[1,12,64,384], %v: f32[1,12,384,64]) -> (%y) {
      %s = MatMul(%q, %k)
      %p = Softmax(%s) {axis = -1}
      %y = MatMul(%p, %v)
    })",
     {}},
    {"attention_to_constants",
     R"(graph g(%q: f32[1,12,384,64], %v: f32[1,12,384,64]) -> (%y) {
      constant %k: f32[1,12,64,384] = random(1)
      %s = MatMul(%q, %k)
      %p = Softmax(%s) {axis = -1}
      %y = MatMul(%p, %v)
    })",
     {1}},
    {"softmax",
     R"(graph g(%x: f32[512,1024]) -> (%y) {
      %y = Softmax(%x) {axis = -1}
    })",
     {}},
};

struct WaitingTarget {
  const char* name;
  Precision precision;
};
const WaitingTarget kTargets[] = {
    {"sm_90", Precision::fp32}, {"sm_90a", Precision::fp16}, {"sm_100a", Precision::fp16}, {"sm_120", Precision::bf16}};

/// The plan's last kernel, which the tests check. The kernels before it compute its operand.
const Kernel& last_kernel(const Plan& plan) { return plan.kernels[plan.entry().steps.back().as<Launch>()->kernel]; }

cuda::KernelText text_of(const OverlapCase& c, const WaitingTarget& target) {
  const Target t = gpu_target(target.name, target.precision);
  const Plan plan = cuda_plan(parse_graph(c.graph), t);
  return cuda::emit_kernel(last_kernel(plan), t);
}

std::vector<unsigned> opcodes(const std::vector<uint8_t>& cubin) {
  std::vector<unsigned> out;
  for (const Instruction& i : instructions_of(cubin)) out.push_back(i.opcode());
  return out;
}
// Opcodes of sm_90 to sm_120: wait and trigger, loads (to registers, to shared memory), stores and atomics on global
// memory.
constexpr unsigned kWait = 0x82e, kTrigger = 0x82d;
constexpr unsigned kBoxCopy = 0x5b4;
constexpr unsigned kLoads[] = {0x981, 0xfae}, kStores[] = {0x986, 0x98e, 0x9a8, 0x3a8};

bool is_one_of(unsigned opcode, const auto& list) {
  return std::find(std::begin(list), std::end(list), opcode) != std::end(list);
}

class Waiting : public testing::TestWithParam<WaitingTarget> {};
INSTANTIATE_TEST_SUITE_P(Targets, Waiting, testing::ValuesIn(kTargets),
                         [](const auto& instance) { return std::string(instance.param.name); });

TEST_P(Waiting, KernelsSayWhatTheyReadAhead) {
  for (const OverlapCase& c : kCases) {
    const cuda::KernelText text = text_of(c, GetParam());
    EXPECT_TRUE(text.waits) << c.name;
    EXPECT_EQ(text.ahead.size(), c.ahead.size()) << c.name;
    EXPECT_EQ(text.ahead_bytes > 0, !c.ahead.empty()) << c.name;
    EXPECT_EQ(text.source.find("__restrict__"), std::string::npos) << c.name;
    for (const cuda::KernelText& then : text.then) EXPECT_TRUE(then.waits && then.ahead.empty()) << c.name;
  }
}

TEST(WaitingTargets, NoneBelowSm90) {
  for (const char* target : {"sm_80", "sm_89", "ptx"}) {
    const cuda::KernelText text = text_of(kCases[0], {target, Precision::fp32});
    EXPECT_FALSE(text.waits) << target;
    EXPECT_EQ(text.note.find("ahead"), std::string::npos) << target;
  }
}

/// Graphs for which the simulation must see constants read ahead, and right results.
const char* const kSmall[] = {
    R"(graph g(%x: f32[1,100]) -> (%y) {
      constant %w: f32[100,72] = random(1)
      %y = MatMul(%x, %w)
    })",
    R"(graph g(%x: f32[3,70]) -> (%y) {
      constant %w: f32[70,45] = random(1)
      %y = MatMul(%x, %w)
    })",
    R"(graph g(%x: f32[2,136]) -> (%y) {
      constant %w: f32[50,136] = random(1)
      %t = Transpose(%w) {perm = [1,0]}
      %y = MatMul(%x, %t)
    })",
    R"(graph g(%x: f32[1,4096]) -> (%y) {
      constant %w: f32[4096,8] = random(1)
      %y = MatMul(%x, %w)
    })",
    R"(graph g(%x: f32[33,50]) -> (%y) {
      constant %w: f32[50,40] = random(1)
      %y = MatMul(%x, %w)
    })",
    R"(graph g(%x: f32[20,41]) -> (%y) {
      constant %w: f32[37,20] = random(1)
      %y = MatMul(%w, %x)
    })",
    R"(graph g(%x: f32[2,8,7,9]) -> (%y) {
      constant %w: f32[24,4,3,3] = random(1)
      %y = Conv(%x, %w) {pads = [1,1,1,1], group = 2}
    })",
    R"(graph g(%k: f32[2,16,40], %v: f32[2,40,16]) -> (%y) {
      constant %q: f32[2,20,16] = random(1)
      %s = MatMul(%q, %k)
      %p = Softmax(%s) {axis = -1}
      %y = MatMul(%p, %v)
    })",
    R"(graph g(%q: f32[2,20,16]) -> (%y) {
      constant %k: f32[2,16,40] = random(1)
      constant %v: f32[2,40,16] = random(2)
      %s = MatMul(%q, %k)
      %p = Softmax(%s) {axis = -1}
      %y = MatMul(%p, %v)
    })",
};

TEST_P(Waiting, ConstantsReadAheadGiveTheSameResults) {
  const Target target = gpu_target(GetParam().name, GetParam().precision);
  const double tolerance = GetParam().precision == Precision::fp32   ? 1e-4
                           : GetParam().precision == Precision::fp16 ? 2e-2
                                                                     : 1e-1;
  for (const char* graph : kSmall) {
    SCOPED_TRACE(graph);
    const SimulatedRun run = expect_simulates(graph, target, tolerance);
    EXPECT_TRUE(std::any_of(run.notes.begin(), run.notes.end(), [](const std::string& note) {
      return note.find("bytes ahead") != note.npos;
    })) << run.notes[0];
  }
}

/// ptxas must not move a load of weights behind the wait, nor any other load ahead of the wait.
TEST_P(Waiting, TheAssemblersCodeReadsWeightsFirst) {
  const Target target = gpu_target(GetParam().name, GetParam().precision);
  if (cuda::Nvrtc::find_for_driver(target.driver) == nullptr) GTEST_SKIP() << "no NVRTC on this machine";
  const cuda::CubinCache cache{std::filesystem::path()};
  const cuda::Assembler assembler(target, cache);
  for (const OverlapCase& c : kCases) {
    const cuda::KernelText text = text_of(c, GetParam());
    const cuda::AssembledProgram program = assembler.assemble(text.source);
    const std::vector<unsigned> code = opcodes(program.code);
    const auto wait = std::find(code.begin(), code.end(), kWait),
               trigger = std::find(code.begin(), code.end(), kTrigger);
    ASSERT_NE(wait, code.end()) << c.name;
    EXPECT_LT(trigger - code.begin(), wait - code.begin()) << c.name;
    // With TMA, the code that requests boxes follows the multiplying code, and has its own wait.
    const bool is_fed = text.note.find("TMA") != text.note.npos || text.note.find("cluster") != text.note.npos;
    const auto last_wait = std::find(code.rbegin(), code.rend(), kWait).base() - 1;
    const auto loads =
        is_fed ? std::count(code.begin(), last_wait, kBoxCopy)
               : std::count_if(code.begin(), wait, [](unsigned opcode) { return is_one_of(opcode, kLoads); });
    EXPECT_EQ(loads > 0, !c.ahead.empty()) << c.name << ": " << loads << " loads before the wait\n" << text.note;
    EXPECT_TRUE(std::none_of(code.begin(), wait, [](unsigned opcode) { return is_one_of(opcode, kStores); })) << c.name;
    EXPECT_EQ(cuda::usage_of(program.log).spill_bytes, 0) << c.name;
    RecordProperty(c.name, std::to_string(loads) + " loads ahead, " + text.note);
    if (std::getenv("GCC_GRAPH_ALL_TILES") != nullptr)
      std::printf("%s %s: %td loads ahead, %d registers, %s\n", GetParam().name, c.name, loads,
                  cuda::usage_of(program.log).registers, text.note.c_str());
  }
}

/// Such loads may read stale data: the read-only cache does not see other launches' writes.
TEST(WaitingText, HasNoLoadsByWayOfTheReadOnlyCache) {
  const cuda::Nvrtc* nvrtc = cuda::Nvrtc::find_for_driver(0);
  if (nvrtc == nullptr) GTEST_SKIP() << "no NVRTC on this machine";
  for (const OverlapCase& c : kCases) {
    const cuda::KernelText text = text_of(c, kTargets[1]);
    const cuda::AssembledProgram ptx =
        nvrtc->compile(text.source, cuda::device_headers(),
                       {"--gpu-architecture=compute_90a", "--std=c++17", "-default-device"}, true);
    const std::string code(ptx.code.begin(), ptx.code.end());
    EXPECT_NE(code.find("griddepcontrol.wait"), std::string::npos) << c.name;
    EXPECT_EQ(code.find("ld.global.nc"), std::string::npos) << c.name;
  }
}

}  // namespace
}  // namespace gcg::test
