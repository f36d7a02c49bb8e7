// Attention in one kernel on the simulated GPU against the interpreter.
#include <gtest/gtest.h>

#include "tests/cuda/contractions/simulated_run.h"

namespace gcg::test {
namespace {

const ContractionCase kArithmetics[] = {
    {"sm_75", Precision::fp32, 1e-5},  {"sm_86", Precision::fp32, 1e-5}, {"sm_80", Precision::fp32, 1e-5},
    {"sm_90a", Precision::tf32, 1e-2}, {"sm_87", Precision::fp16, 1e-2}, {"sm_120", Precision::bf16, 6e-2},
};

class Attention : public testing::TestWithParam<ContractionCase> {
 protected:
  void check(const std::string& gir, const SymbolValues& symbols = {}) const {
    const SimulatedRun run =
        expect_simulates(gir, gpu_target(GetParam().target, GetParam().precision), GetParam().tolerance, symbols);
    EXPECT_EQ(run.kernels.back(), "attention");
  }
};
INSTANTIATE_TEST_SUITE_P(Arithmetics, Attention, testing::ValuesIn(kArithmetics), case_name);

TEST_P(Attention, HeadsInRows) {
  check(R"(graph g(%q: f32[2,37,3,32], %k: f32[2,70,3,32], %v: f32[2,70,3,32]) -> (%y) {
    %a = Transpose(%q) {perm = [0,2,1,3]}
    %b = Transpose(%k) {perm = [0,2,3,1]}
    %c = Transpose(%v) {perm = [0,2,1,3]}
    %s = MatMul(%a, %b)
    constant %scale: f32[] = {0.17}
    %t = Mul(%s, %scale)
    %p = Softmax(%t) {axis = -1}
    %o = MatMul(%p, %c)
    %y = Transpose(%o) {perm = [0,2,1,3]}
  })");
}

TEST_P(Attention, EveryCandidateOfTuning) {
  Target target = gpu_target(GetParam().target, GetParam().precision);
  for (size_t i = 0, count = 1; i < count; ++i) {
    const ForcedChoice choice(i);
    target.decisions = &choice;
    const SimulatedRun run = expect_simulates(R"(graph g(%q: f32[2,37,32], %k: f32[2,70,32], %v: f32[2,70,24]) -> (%y) {
      %b = Transpose(%k) {perm = [0,2,1]}
      %s = MatMul(%q, %b)
      %p = Softmax(%s) {axis = -1}
      %y = MatMul(%p, %v)
    })",
                                              target, GetParam().tolerance);
    EXPECT_NE(run.notes.back().find("tuned"), std::string::npos);
    count = choice.count();
    EXPECT_GT(count, 4U);
    EXPECT_LE(count, 16U);
  }
}

TEST_P(Attention, MaskOfSymbolicExtents) {
  check(R"(graph g(%q: f32[b,2,s,16], %k: f32[b,2,t,16], %v: f32[b,2,t,24], %m: f32[b,1,1,t]) -> (%y) {
    %b = Transpose(%k) {perm = [0,1,3,2]}
    %s = MatMul(%q, %b)
    %t = Add(%s, %m)
    %p = Softmax(%t) {axis = -1}
    %y = MatMul(%p, %v)
  })",
        {{"b", 2}, {"s", 19}, {"t", 41}});
}

TEST_P(Attention, OneQueryOverManyKeys) {
  check(R"(graph g(%q: f32[1,3,1,64], %k: f32[1,3,300,64], %v: f32[1,3,300,64], %r: f32[1,3,1,64]) -> (%y) {
    %b = Transpose(%k) {perm = [0,1,3,2]}
    %s = MatMul(%q, %b)
    %p = Softmax(%s) {axis = 3}
    %o = MatMul(%p, %v)
    %y = Add(%o, %r)
  })");
}

TEST_P(Attention, LargeHeads) {
  check(R"(graph g(%q: f32[1,20,128], %k: f32[1,33,128], %v: f32[1,33,100]) -> (%y) {
    %b = Transpose(%k) {perm = [0,2,1]}
    %s = MatMul(%q, %b)
    %p = Softmax(%s) {axis = -1}
    %y = MatMul(%p, %v)
  })");
}

TEST_P(Attention, OperatorThatIsCausalWithSharedKeys) {
  check(R"(graph g(%q: f32[2,4,21,32], %k: f32[2,2,21,32], %v: f32[2,2,21,32]) -> (%y) {
    %y = Attention(%q, %k, %v) {is_causal = 1}
  })");
}

TEST_P(Attention, OperatorWithAMaskThatLeavesRowsEmpty) {
  check(R"(graph g(%q: f32[1,2,11,16], %k: f32[1,2,13,16], %v: f32[1,2,13,16], %m: bool[11,1]) -> (%y) {
    %y = Attention(%q, %k, %v, %m)
  })");
}

TEST_P(Attention, RowsOfNaNBecomeZero) {
  check(R"(graph g(%q: f32[1,2,11,16], %k: f32[1,2,13,16], %v: f32[1,2,13,16], %m: bool[11,1]) -> (%y) {
    constant %zero: f32[] = {0}
    constant %low: f32[] = {-inf}
    %b = Transpose(%k) {perm = [0,1,3,2]}
    %s = MatMul(%q, %b)
    %w = Where(%m, %s, %low)
    %p = Softmax(%w) {axis = -1}
    %n = IsNaN(%p)
    %z = Where(%n, %zero, %p)
    %y = MatMul(%z, %v)
  })");
}

TEST_P(Attention, EmptyRowsAreNaN) {
  check(R"(graph g(%q: f32[1,2,11,16], %k: f32[1,2,13,16], %v: f32[1,2,13,16], %m: bool[11,1]) -> (%y) {
    constant %low: f32[] = {-inf}
    %b = Transpose(%k) {perm = [0,1,3,2]}
    %s = MatMul(%q, %b)
    %w = Where(%m, %s, %low)
    %p = Softmax(%w) {axis = -1}
    %y = MatMul(%p, %v)
  })");
}

/// The kernels made from the graph.
std::vector<std::string> kernels(const std::string& gir) {
  return expect_simulates(gir, gpu_target("sm_86"), 1e-5).kernels;
}

TEST(AttentionPattern, ScoresThatAreReadElsewhereAreStored) {
  const auto names = kernels(R"(graph g(%q: f32[1,9,16], %k: f32[1,16,12], %v: f32[1,12,16]) -> (%y, %p) {
    %s = MatMul(%q, %k)
    %p = Softmax(%s) {axis = -1}
    %y = MatMul(%p, %v)
  })");
  EXPECT_EQ(names.size(), 3U);
}

TEST(AttentionPattern, SoftmaxAlongAnotherAxisIsNone) {
  const auto names = kernels(R"(graph g(%q: f32[1,9,16], %k: f32[1,16,12], %v: f32[1,12,16]) -> (%y) {
    %s = MatMul(%q, %k)
    %p = Softmax(%s) {axis = 1}
    %y = MatMul(%p, %v)
  })");
  EXPECT_EQ(names.size(), 3U);
}

}  // namespace
}  // namespace gcg::test
