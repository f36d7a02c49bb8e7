// Matrix products on the simulated GPU against the interpreter: every arithmetic, every way operands may lie.
#include <gtest/gtest.h>

#include "compiler/support/error.h"
#include "tests/cuda/contractions/simulated_run.h"

namespace gcg::test {
namespace {

constexpr double kExact = 4e-6;  // sums in another order, 22 bits of each factor

// Of sm_75: CUDA cores and copies through registers; of sm_86: CUDA cores and asynchronous copies.
const ContractionCase kArithmetics[] = {
    {"sm_75", Precision::fp32, kExact}, {"sm_86", Precision::fp32, kExact}, {"sm_80", Precision::fp32, kExact},
    {"sm_90a", Precision::tf32, 1e-2},  {"sm_80", Precision::fp16, 1e-2},   {"sm_75", Precision::fp16, 1e-2},
    {"sm_120", Precision::bf16, 6e-2},
};

class MatMul : public testing::TestWithParam<ContractionCase> {
 protected:
  SimulatedRun check(const std::string& gir, const SymbolValues& symbols = {}) const {
    return expect_simulates(gir, gpu_target(GetParam().target, GetParam().precision), GetParam().tolerance, symbols);
  }
};
INSTANTIATE_TEST_SUITE_P(Arithmetics, MatMul, testing::ValuesIn(kArithmetics), case_name);

TEST_P(MatMul, OddExtents) {
  check(R"(graph g(%a: f32[37,53], %b: f32[53,41]) -> (%y) {
    %y = MatMul(%a, %b)
  })");
}

TEST_P(MatMul, EpilogueWithBiasAndResidual) {
  check(R"(graph g(%a: f32[64,96], %b: f32[96,72], %c: f32[72], %r: f32[64,72]) -> (%y) {
    %p = MatMul(%a, %b)
    %s = Add(%p, %c)
    %t = Relu(%s)
    %y = Add(%t, %r)
  })");
}

TEST_P(MatMul, TransposedOperandsInABatch) {
  check(R"(graph g(%a: f32[3,40,17], %b: f32[3,36,40]) -> (%y) {
    %s = Transpose(%a) {perm = [0,2,1]}
    %t = Transpose(%b) {perm = [0,2,1]}
    %y = MatMul(%s, %t)
  })");
}

TEST_P(MatMul, HeadsOfAnAttention) {
  check(R"(graph g(%a: f32[2,19,3,16], %b: f32[2,23,3,16]) -> (%y) {
    %s = Transpose(%a) {perm = [0,2,1,3]}
    %t = Transpose(%b) {perm = [0,2,3,1]}
    %y = MatMul(%s, %t)
  })");
}

TEST_P(MatMul, BroadcastBatches) {
  check(R"(graph g(%a: f32[2,1,9,20], %b: f32[3,20,33]) -> (%y) {
    %y = MatMul(%a, %b)
  })");
}

TEST_P(MatMul, SymbolicExtents) {
  check(R"(graph g(%a: f32[b,m,24], %b: f32[24,n], %c: f32[n]) -> (%y) {
    %p = MatMul(%a, %b)
    %y = Add(%p, %c)
  })", {{"b", 2}, {"m", 11}, {"n", 35}});
}

TEST_P(MatMul, DeepSumsAreCutIntoSlices) {
  const SimulatedRun run = check(R"(graph g(%a: f32[20,1000], %b: f32[1000,24], %c: f32[24]) -> (%y) {
    %p = MatMul(%a, %b)
    %y = Add(%p, %c)
  })");
  EXPECT_EQ(run.kernels, (std::vector<std::string>{"matmul", "matmul_sum"}));
}

TEST_P(MatMul, SingleElements) {
  check(R"(graph g(%a: f32[1,1], %b: f32[1,1]) -> (%y) {
    %y = MatMul(%a, %b)
  })");
  check(R"(graph g(%a: f32[5,1,1], %b: f32[5,1,70]) -> (%y) {
    %y = MatMul(%a, %b)
  })");
}

TEST(MatMulValues, InfinitiesStayInfinite) {
  const std::string gir = R"(graph g(%a: f32[2,4], %b: f32[4,3]) -> (%y) {
    %y = MatMul(%a, %b)
  })";
  for (const char* target : {"sm_80", "sm_86"}) expect_simulates(gir, gpu_target(target), kExact);
}

}  // namespace
}  // namespace gcg::test
