// The real assembler's code of attention by warpgroups: no spills, products that are not serialised, exponentials
// beside them. Skipped without NVRTC.
#include <gtest/gtest.h>

#include <algorithm>

#include "codegen/cuda/assembler/assemble.h"
#include "codegen/cuda/contractions/attention_wide.h"
#include "compiler/gir/gir.h"
#include "compiler/support/error.h"
#include "tests/cuda/contractions/machine_code.h"
#include "tests/cuda/contractions/simulated_run.h"

namespace gcg::test {
namespace {

struct WideAssemblyCase {
  const char* what;
  int heads, key_heads, queries, keys, head;
  const char* mask;   // an additional input
  const char* score;  // arguments and attributes of the operator
};
const WideAssemblyCase kCases[] = {
    {"plain", 12, 12, 384, 384, 64, "", ")"},
    {"causal", 32, 8, 2048, 2048, 128, "", ") {is_causal = 1}"},
    {"causal, small heads", 12, 12, 384, 384, 64, "", ") {is_causal = 1}"},
    {"a mask of keys", 12, 12, 384, 384, 64, ", %m: f32[1,1,1,384]", ", %m)"},
    {"a mask of all", 8, 8, 1024, 1024, 128, ", %m: f32[1,1,1024,1024]", ", %m)"},
    {"a window, a cap", 8, 8, 1024, 1024, 128, "", ") {is_causal = 1, left_window_size = 256, softcap = 30.0}"},
    {"heads of 80", 16, 16, 257, 257, 80, "", ")"},
    {"heads of 32", 6, 6, 200, 200, 32, "", ")"},
    {"few queries", 32, 8, 1, 4096, 128, "", ")"},
};

std::string graph_of(const WideAssemblyCase& c) {
  const auto shape = [&](int heads, int rows) { return concat("f32[1,", heads, ",", rows, ",", c.head, "]"); };
  return concat("graph g(%qi: ", shape(c.heads, c.queries), ", %ki: ", shape(c.key_heads, c.keys),
                ", %vi: ", shape(c.key_heads, c.keys), c.mask, ") -> (%y) {\n  %q = Neg(%qi)\n  %k = Neg(%ki)\n",
                "  %v = Neg(%vi)\n  %y = Attention(%q, %k, %v", c.score, "\n}\n");
}

class WideAssembly : public testing::TestWithParam<Precision> {
 protected:
  void SetUp() override {
    target_ = gpu_target("sm_90a", GetParam());
    if (cuda::Nvrtc::find_for_driver(target_.driver) == nullptr) GTEST_SKIP() << "no NVRTC on this machine";
  }

  std::vector<cuda::KernelText> texts_of(const WideAssemblyCase& c) const {
    std::vector<cuda::KernelText> texts;
    const Plan plan = cuda_plan(parse_graph(graph_of(c)), target_);
    for (const Kernel& k : plan.kernels)
      if (std::holds_alternative<AttentionKernel>(k.body))
        for (const cuda::WideAttentionTile& tile : cuda::wide_attention_tiles(k, target_))
          texts.push_back(cuda::emit_wide_attention(k, target_, tile));
    return texts;
  }

  Target target_;
};
INSTANTIATE_TEST_SUITE_P(Arithmetics, WideAssembly, testing::Values(Precision::fp16, Precision::bf16),
                         [](const auto& p) { return p.param == Precision::fp16 ? "fp16" : "bf16"; });

/// Number of exponentials between the wait for the scores of a step and the wait for the values of the previous step;
/// the minimum over all loops. -1: there is no such loop.
int fewest_beside_products(const std::vector<Instruction>& code) {
  int fewest = -1, since = -1;
  for (const Instruction& i : code) {
    if (i.opcode() == kMathFunction && since >= 0) ++since;
    if (!i.waits_for_products()) continue;
    if (i.products_left() == 0 && since >= 0) fewest = fewest < 0 ? since : std::min(fewest, since);
    since = i.products_left() == 1 ? 0 : -1;
  }
  return fewest;
}

TEST_P(WideAssembly, ExponentialsRunBesideProducts) {
  const cuda::CubinCache cache{std::filesystem::path()};
  for (const WideAssemblyCase& c : kCases) {
    const auto texts = texts_of(c);
    EXPECT_FALSE(texts.empty()) << c.what;
    for (const cuda::KernelText& text : texts) {
      SCOPED_TRACE(concat(c.what, ": ", text.note));
      const cuda::AssembledProgram program =
          cuda::Assembler(target_, cache).assemble(text.source, text.least_registers);
      const cuda::Usage usage = cuda::usage_of(program.log);
      EXPECT_TRUE(usage.notes.empty()) << (usage.notes.empty() ? "" : usage.notes[0]);
      EXPECT_EQ(usage.spill_bytes, 0);
      if (text.least_registers > 0) {
        EXPECT_EQ(usage.registers, text.least_registers) << "what is shared out";
      }
      EXPECT_GE(fewest_beside_products(instructions_of(program.code)), 64) << "of two rows of 128 keys, half a lane's";
    }
  }
}

}  // namespace
}  // namespace gcg::test
