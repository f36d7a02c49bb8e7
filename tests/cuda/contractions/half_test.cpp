// Contractions whose operands are stored in 16 bits, on the simulated GPU against the interpreter: every alignment and
// layout, on tensor cores and (bf16 on sm_75) on CUDA cores.
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/cuda/contractions/simulated_run.h"

namespace gcg::test {
namespace {

struct HalfCase {
  const char* what;
  const char* graph;
  int half_operands;  // of all launches
  SymbolValues symbols = {};
};

const HalfCase kCases[] = {
    {"aligned matrices, a gate read by the epilogue", R"(graph g(%x: f32[64,72]) -> (%y) {
      constant %w: f32[72,72] = random(1)
      constant %b: f32[72] = random(2)
      %a = Relu(%x)
      %p = MatMul(%a, %w)
      %q = Add(%p, %b)
      %t = Relu(%q)
      %y = Mul(%t, %a)
    })",
     5},
    {"odd extents", R"(graph g(%x: f32[37,53]) -> (%y) {
      constant %w: f32[53,41] = random(1)
      %a = Neg(%x)
      %y = MatMul(%a, %w)
    })",
     3},
    {"even extents", R"(graph g(%x: f32[38,54]) -> (%y) {
      constant %w: f32[54,42] = random(1)
      %a = Neg(%x)
      %y = MatMul(%a, %w)
    })",
     3},
    {"multiples of four", R"(graph g(%x: f32[20,44]) -> (%y) {
      constant %w: f32[44,36] = random(1)
      %a = Neg(%x)
      %y = MatMul(%a, %w)
    })",
     3},
    {"a chain stored in between",
     R"(graph g(%x: f32[b,m,24]) -> (%y) {
      constant %w: f32[24,40] = random(1)
      constant %v: f32[40,56] = random(2)
      %p = MatMul(%x, %w)
      %t = Tanh(%p)
      %y = MatMul(%t, %v)
    })",
     4,
     {{"b", 3}, {"m", 11}}},
    {"transposed operands in a batch", R"(graph g(%x: f32[3,40,24], %z: f32[3,32,40]) -> (%y) {
      %a = Neg(%x)
      %b = Neg(%z)
      %s = Transpose(%a) {perm = [0,2,1]}
      %t = Transpose(%b) {perm = [0,2,1]}
      %y = MatMul(%s, %t)
    })",
     4},
    {"transposed odd operands", R"(graph g(%x: f32[2,35,19], %z: f32[2,27,35]) -> (%y) {
      %a = Neg(%x)
      %b = Neg(%z)
      %s = Transpose(%a) {perm = [0,2,1]}
      %t = Transpose(%b) {perm = [0,2,1]}
      %y = MatMul(%s, %t)
    })",
     4},
    {"parts of a larger product", R"(graph g(%x: f32[2,16,24]) -> (%y) {
      constant %w: f32[24,96] = random(1)
      %p = MatMul(%x, %w)
      %h = Tanh(%p)
      %a, %b = Split(%h) {axis = -1, num_outputs = 2}
      %t = Transpose(%b) {perm = [0,2,1]}
      %y = MatMul(%a, %t)
    })",
     4},
    {"a deep sum in splits", R"(graph g(%x: f32[20,1000]) -> (%y) {
      constant %w: f32[1000,24] = random(1)
      %a = Neg(%x)
      %p = MatMul(%a, %w)
      %y = Relu(%p)
    })",
     3},
    {"a row times lines along the columns", R"(graph g(%x: f32[1,104]) -> (%y) {
      constant %w: f32[104,72] = random(1)
      %a = Neg(%x)
      %y = MatMul(%a, %w)
    })",
     3},
    {"rows times odd columns", R"(graph g(%x: f32[3,70]) -> (%y) {
      constant %w: f32[70,45] = random(1)
      %y = MatMul(%x, %w)
    })",
     1},
    {"eight rows times lines along the depth", R"(graph g(%x: f32[8,136], %z: f32[50,136]) -> (%y) {
      %a = Neg(%x)
      %b = Neg(%z)
      %t = Transpose(%b) {perm = [1,0]}
      %y = MatMul(%a, %t)
    })",
     4},
    {"floats times lines along an odd depth", R"(graph g(%x: f32[2,77], %z: f32[9,77]) -> (%y) {
      %b = Neg(%z)
      %t = Transpose(%b) {perm = [1,0]}
      %y = MatMul(%x, %t)
    })",
     2},
    {"a convolution of whole taps", R"(graph g(%x: f32[2,32,9,7], %r: f32[2,24,9,7]) -> (%y) {
      constant %w: f32[24,32,3,3] = random(1)
      constant %b: f32[24] = random(2)
      %a = Neg(%x)
      %s = Neg(%r)
      %c = Conv(%a, %w, %b) {pads = [1,1,1,1]}
      %t = Mul(%c, %s)
      %y = Relu(%t)
    })",
     3},
    {"channels of a tile of 16", R"(graph g(%x: f32[1,48,6,5]) -> (%y) {
      constant %w: f32[20,48,3,3] = random(1)
      %a = Neg(%x)
      %y = Conv(%a, %w) {pads = [1,1,1,1], strides = [2,1]}
    })",
     3},
    {"pointwise convolutions", R"(graph g(%x: f32[2,40,4,4]) -> (%y) {
      constant %w: f32[24,40,1,1] = random(1)
      constant %v: f32[17,24,1,1] = random(2)
      %p = Conv(%x, %w)
      %y = Conv(%p, %v)
    })",
     4},
    {"groups, and a stem of floats", R"(graph g(%x: f32[1,3,17,19]) -> (%y) {
      constant %w: f32[12,3,7,7] = random(1)
      constant %v: f32[10,6,3,2] = random(2)
      %p = Conv(%x, %w) {pads = [3,3,3,3], strides = [2,2]}
      %y = Conv(%p, %v) {group = 2, dilations = [2,1], pads = [2,0,1,1], strides = [1,2]}
    })",
     4},
    {"symbolic images",
     R"(graph g(%x: f32[n,16,h,w]) -> (%y) {
      constant %w: f32[20,16,3,3] = random(1)
      %a = Neg(%x)
      %y = Conv(%a, %w) {pads = [1,1,1,1]}
    })",
     3,
     {{"n", 2}, {"h", 6}, {"w", 9}}},
    {"attention", R"(graph g(%x: f32[2,37,96], %m: f32[2,1,1,37]) -> (%y) {
      constant %w: f32[96,96] = random(1)
      constant %u: f32[96,96] = random(2)
      constant %v: f32[96,96] = random(3)
      constant %small: f32[] = {0.02}
      %q = MatMul(%x, %w)
      %qs = Mul(%q, %small)
      %k = MatMul(%x, %u)
      %e = MatMul(%x, %v)
      %q1 = gart.View(%qs) {shape = ["x0_0","x0_1","3","32"]}
      %k1 = gart.View(%k) {shape = ["x0_0","x0_1","3","32"]}
      %v1 = gart.View(%e) {shape = ["x0_0","x0_1","3","32"]}
      %qt = Transpose(%q1) {perm = [0,2,1,3]}
      %kt = Transpose(%k1) {perm = [0,2,3,1]}
      %vt = Transpose(%v1) {perm = [0,2,1,3]}
      %s = MatMul(%qt, %kt)
      %t = Add(%s, %m)
      %p = Softmax(%t) {axis = -1}
      %o = MatMul(%p, %vt)
      %ot = Transpose(%o) {perm = [0,2,1,3]}
      %y = gart.View(%ot) {shape = ["x0_0","x0_1","96"]}
    })",
     5},
    {"attention of floats over 16-bit keys of odd sizes",
     R"(graph g(%q: f32[1,20,50], %k: f32[1,33,50], %v: f32[1,33,100]) -> (%y) {
      %a = Neg(%k)
      %b = Transpose(%a) {perm = [0,2,1]}
      %s = MatMul(%q, %b)
      %p = Softmax(%s) {axis = -1}
      %y = MatMul(%p, %v)
    })",
     2},
};

const ContractionCase kArithmetics[] = {
    {"sm_75", Precision::fp16, 2e-2}, {"sm_80", Precision::fp16, 2e-2},  {"sm_75", Precision::bf16, 1e-1},
    {"sm_87", Precision::bf16, 1e-1}, {"sm_90a", Precision::fp16, 2e-2}, {"sm_120", Precision::bf16, 1e-1},
};

class Half : public testing::TestWithParam<ContractionCase> {};
INSTANTIATE_TEST_SUITE_P(Arithmetics, Half, testing::ValuesIn(kArithmetics), case_name);

TEST_P(Half, OperandsAreReadAsTheyAreStored) {
  const Target target = gpu_target(GetParam().target, GetParam().precision);
  for (const HalfCase& c : kCases) {
    SCOPED_TRACE(c.what);
    const SimulatedRun run = expect_simulates(c.graph, target, GetParam().tolerance, c.symbols);
    EXPECT_EQ(run.half_operands, c.half_operands);
  }
}

struct EndsCase {
  const char* what;
  const char* graph;  // of f16
  size_t launches;
  int half_operands;  // of all launches
};

/// Models in f16: no kernel casts their inputs and outputs.
const EndsCase kEnds[] = {
    {"a product, its bias and its activation", R"(graph g(%x: f16[64,72]) -> (%y) {
      constant %w: f16[72,64] = random(1)
      constant %b: f16[64] = random(2)
      %p = MatMul(%x, %w)
      %q = Add(%p, %b)
      %y = Relu(%q)
    })",
     1, 4},
    {"a row times lines", R"(graph g(%x: f16[1,104], %r: f16[1,72]) -> (%y) {
      constant %w: f16[104,72] = random(1)
      %p = MatMul(%x, %w)
      %y = Add(%p, %r)
    })",
     1, 4},
    {"both factors are inputs, one is turned around", R"(graph g(%x: f16[2,40,24], %z: f16[2,32,24]) -> (%y) {
      %t = Transpose(%z) {perm = [0,2,1]}
      %y = MatMul(%x, %t)
    })",
     1, 3},
    {"a state that grows", R"(graph g(%past: f16[1,8,32], %x: f16[1,1,32]) -> (%y, %state) {
      constant %w: f16[32,32] = random(1)
      %k = MatMul(%x, %w)
      %state = Concat(%past, %k) {axis = 1}
      %t = Transpose(%state) {perm = [0,2,1]}
      %y = MatMul(%x, %t)
    })",
     3, 8},
    {"attention", R"(graph g(%q: f16[1,2,40,32], %k: f16[1,2,48,32], %v: f16[1,2,48,32]) -> (%y) {
      %t = Transpose(%k) {perm = [0,1,3,2]}
      %s = MatMul(%q, %t)
      %p = Softmax(%s) {axis = -1}
      %y = MatMul(%p, %v)
    })",
     1, 4},
    {"a convolution, before which the channels are brought together",
     R"(graph g(%x: f16[2,16,9,7]) -> (%y) {
      constant %w: f16[24,16,3,3] = random(1)
      %c = Conv(%x, %w) {pads = [1,1,1,1]}
      %y = Relu(%c)
    })",
     2, 5},
    {"an image", R"(graph g(%x: f16[1,3,17,19]) -> (%y) {
      constant %w: f16[12,3,7,7] = random(1)
      %y = Conv(%x, %w) {pads = [3,3,3,3], strides = [2,2]}
    })",
     1, 3},
};

TEST_P(Half, EndsAreWhatTheModelHas) {
  if (GetParam().precision != Precision::fp16) return;
  const Target target = gpu_target(GetParam().target, GetParam().precision);
  for (const EndsCase& c : kEnds) {
    SCOPED_TRACE(c.what);
    const SimulatedRun run = expect_simulates(c.graph, target, GetParam().tolerance);
    const auto sums = std::count(run.kernels.begin(), run.kernels.end(), "conv_sum");  // of slices
    EXPECT_EQ(run.kernels.size() - static_cast<size_t>(sums), c.launches) << testing::PrintToString(run.kernels);
    EXPECT_EQ(run.half_operands, c.half_operands);
  }
}

}  // namespace
}  // namespace gcg::test
