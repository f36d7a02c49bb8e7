// Matrix products on the simulated GPU against the interpreter: every arithmetic, every operand layout.
#include <gtest/gtest.h>

#include <cmath>

#include "compiler/gir/gir.h"
#include "compiler/ops/infer.h"
#include "compiler/reference/interpreter.h"
#include "tests/cuda/contractions/simulated_run.h"

namespace gcg::test {
namespace {

constexpr double kExact = 4e-6;  // allows another summation order, and 22 bits of each factor

// On sm_75: CUDA cores and copies through registers. On sm_86: CUDA cores and asynchronous copies.
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
  })",
        {{"b", 2}, {"m", 11}, {"n", 35}});
}

/// Tensor cores truncate, so a running sum of terms of one sign over the whole depth would have an error of 1e-4.
TEST(MatMulDepth, DeepSumsOfOneSignKeepTheErrorOfFloats) {
  for (const char* target : {"sm_80", "sm_90a", "sm_100"})
    expect_simulates(R"(graph g(%a: f32[64,4096], %b: f32[4096,64]) -> (%y) {
      %s = Abs(%a)
      %t = Abs(%b)
      %y = MatMul(%s, %t)
    })",
                     gpu_target(target), 2e-6);
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

struct SkinnyGemm {
  const char* what;
  const char* graph;
};
const SkinnyGemm kSkinnyGemms[] = {
    {"a row times lines along the columns", R"(graph g(%a: f32[1,100], %b: f32[100,72], %c: f32[72]) -> (%y) {
      %p = MatMul(%a, %b)
      %y = Add(%p, %c)
    })"},
    {"odd columns", R"(graph g(%a: f32[3,70], %b: f32[70,45]) -> (%y) {
      %y = MatMul(%a, %b)
    })"},
    {"lines along the depth", R"(graph g(%a: f32[2,136], %b: f32[50,136]) -> (%y) {
      %t = Transpose(%b) {perm = [1,0]}
      %y = MatMul(%a, %t)
    })"},
    {"an odd depth", R"(graph g(%a: f32[8,77], %b: f32[9,77]) -> (%y) {
      %t = Transpose(%b) {perm = [1,0]}
      %y = MatMul(%a, %t)
    })"},
    {"a batch of queries over cached keys",
     R"(graph g(%a: f32[2,3,1,16], %b: f32[2,3,37,16], %c: f32[2,3,37,16]) -> (%y) {
      %t = Transpose(%b) {perm = [0,1,3,2]}
      %s = MatMul(%a, %t)
      %y = MatMul(%s, %c)
    })"},
    {"a matrix times a column", R"(graph g(%a: f32[90,60], %b: f32[60,1], %r: f32[90,1]) -> (%y) {
      %p = MatMul(%a, %b)
      %y = Add(%p, %r)
    })"},
    {"columns of a transposed matrix", R"(graph g(%a: f32[60,90], %b: f32[60,4]) -> (%y) {
      %t = Transpose(%a) {perm = [1,0]}
      %y = MatMul(%t, %b)
    })"},
    {"many lines, four of a warp", R"(graph g(%a: f32[1,8], %b: f32[8200,8]) -> (%y) {
      %t = Transpose(%b) {perm = [1,0]}
      %y = MatMul(%a, %t)
    })"},
    {"a deep sum in splits", R"(graph g(%a: f32[2,4000], %b: f32[4000,33], %c: f32[33]) -> (%y) {
      %p = MatMul(%a, %b)
      %s = Add(%p, %c)
      %y = Relu(%s)
    })"},
    {"gates of channels", R"(graph g(%x: f32[2,40,1,1]) -> (%y) {
      constant %w: f32[30,40,1,1] = random(1)
      constant %b: f32[30] = random(2)
      %c = Conv(%x, %w, %b)
      %y = Sigmoid(%c)
    })"},
};

TEST(SkinnyGemm, AreReadOnce) {
  for (const char* target : {"sm_75", "sm_90a"})
    for (const SkinnyGemm& c : kSkinnyGemms) {
      SCOPED_TRACE(c.what);
      const SimulatedRun run = expect_simulates(c.graph, gpu_target(target), 1e-5);
      EXPECT_NE(run.kernels[0].find("_vector"), std::string::npos) << run.kernels[0];
    }
}

TEST(SkinnyGemm, EveryCandidateOfTuning) {
  for (const char* gir : {"graph g(%a: f32[2,520], %b: f32[520,44]) -> (%y) {\n  %y = MatMul(%a, %b)\n}",
                          "graph g(%a: f32[1,520], %c: f32[44,520]) -> (%y) {\n  %b = Transpose(%c) {perm = [1,0]}\n  "
                          "%y = MatMul(%a, %b)\n}"}) {
    Target target = gpu_target("sm_80");
    for (size_t i = 0, count = 1; i < count; ++i) {
      const ForcedChoice choice(i);
      target.decisions = &choice;
      expect_simulates(gir, target, kExact);
      count = choice.count();
      EXPECT_EQ(count, 16U);
    }
  }
}
TEST(MatMulValues, InfinitiesStayInfinite) {
  Graph graph = parse_graph(R"(graph g(%a: f32[16,8], %b: f32[8,16]) -> (%y) {
    %y = MatMul(%a, %b)
  })");
  infer_graph(graph);
  std::vector<Tensor> inputs = {Tensor(DType::f32, {16, 8}), Tensor(DType::f32, {8, 16})};
  for (int64_t i = 0; i < 128; ++i) {
    inputs[0].set_double(i, i % 17 == 3 ? INFINITY : static_cast<double>(i % 5) - 1.7);
    inputs[1].set_double(i, i % 31 == 2 ? -INFINITY : i % 23 == 4 ? 0 : static_cast<double>(i % 7) - 2.3);
  }
  const Tensor want = interpret(graph, inputs)[0];
  for (const char* target : {"sm_80", "sm_86"}) {
    const Tensor got = run_simulated(graph, inputs, gpu_target(target)).outputs[0];
    for (int64_t i = 0; i < 256; ++i) {
      const double w = want.at_double(i), g = got.at_double(i);
      if (std::isnan(w))
        EXPECT_TRUE(std::isnan(g)) << target << " " << i << ": " << g;
      else if (std::isinf(w))
        EXPECT_EQ(g, w) << target << " " << i;
      else
        EXPECT_NEAR(g, w, 1e-4) << target << " " << i;
    }
  }
}

}  // namespace
}  // namespace gcg::test
