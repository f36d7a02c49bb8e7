// Convolutions on the simulated GPU against the interpreter.
#include <gtest/gtest.h>

#include <algorithm>

#include "compiler/support/error.h"
#include "tests/cuda/contractions/simulated_run.h"

namespace gcg::test {
namespace {

const ContractionCase kArithmetics[] = {
    {"sm_75", Precision::fp32, 1e-5},  {"sm_86", Precision::fp32, 1e-5}, {"sm_80", Precision::fp32, 1e-5},
    {"sm_90a", Precision::tf32, 1e-2}, {"sm_87", Precision::fp16, 1e-2}, {"sm_75", Precision::fp16, 1e-2},
};

class Conv : public testing::TestWithParam<ContractionCase> {
 protected:
  SimulatedRun check(const std::string& gir, const SymbolValues& symbols = {}, int in_a_row = 1) const {
    return expect_simulates(gir, gpu_target(GetParam().target, GetParam().precision), GetParam().tolerance * in_a_row,
                            symbols);
  }
};
INSTANTIATE_TEST_SUITE_P(Arithmetics, Conv, testing::ValuesIn(kArithmetics), case_name);

TEST_P(Conv, TapsOfWholeTiles) {
  const SimulatedRun run = check(R"(graph g(%x: f32[2,32,9,7], %r: f32[2,24,9,7]) -> (%y) {
    constant %w: f32[24,32,3,3] = random(1)
    constant %b: f32[24] = random(2)
    %c = Conv(%x, %w, %b) {pads = [1,1,1,1]}
    %s = Add(%c, %r)
    %y = Relu(%s)
  })");
  EXPECT_EQ(run.kernels[0], "conv");
}

TEST_P(Conv, StemOfThreeChannels) {
  check(R"(graph g(%x: f32[1,3,17,19]) -> (%y) {
    constant %w: f32[20,3,7,7] = random(1)
    %y = Conv(%x, %w) {pads = [3,3,3,3], strides = [2,2]}
  })");
}

TEST_P(Conv, Pointwise) {
  check(R"(graph g(%x: f32[2,40,6,6]) -> (%y) {
    constant %w: f32[33,40,1,1] = random(1)
    constant %b: f32[33] = random(2)
    %y = Conv(%x, %w, %b)
  })");
  check(R"(graph g(%x: f32[3,24,5,5]) -> (%y) {
    constant %w: f32[16,24,1,1] = random(1)
    %y = Conv(%x, %w) {strides = [2,2]}
  })");
}

TEST_P(Conv, GroupsDilationAndAsymmetricPads) {
  check(R"(graph g(%x: f32[2,12,11,9]) -> (%y) {
    constant %w: f32[10,6,3,2] = random(1)
    constant %b: f32[10] = random(2)
    %y = Conv(%x, %w, %b) {group = 2, dilations = [2,1], pads = [2,0,1,1], strides = [1,2]}
  })");
}

TEST_P(Conv, OneAndThreeDimensions) {
  check(R"(graph g(%x: f32[2,16,23]) -> (%y) {
    constant %w: f32[18,16,5] = random(1)
    %y = Conv(%x, %w) {pads = [2,1], strides = [2], auto_pad = "NOTSET"}
  })");
  check(R"(graph g(%x: f32[1,4,5,6,7]) -> (%y) {
    constant %w: f32[8,4,2,3,3] = random(1)
    %y = Conv(%x, %w) {auto_pad = "SAME_UPPER", strides = [1,2,1]}
  })");
}

TEST_P(Conv, SymbolicImages) {
  check(R"(graph g(%x: f32[n,16,h,w], %r: f32[h,1]) -> (%y) {
    constant %w: f32[20,16,3,3] = random(1)
    %c = Conv(%x, %w) {pads = [1,1,1,1]}
    %y = Mul(%c, %r)
  })",
        {{"n", 2}, {"h", 6}, {"w", 9}});
}

TEST_P(Conv, WeightsThatAreComputed) {
  check(R"(graph g(%x: f32[1,5,6,6], %w: f32[7,5,3,3]) -> (%y) {
    %v = Neg(%w)
    %y = Conv(%x, %v)
  })");
}

TEST_P(Conv, SmallImagesOfManyChannelsAreCutIntoSlices) {
  const SimulatedRun run = check(R"(graph g(%x: f32[1,128,4,4], %r: f32[1,32,4,4]) -> (%y) {
    constant %w: f32[32,128,3,3] = random(1)
    constant %b: f32[32] = random(2)
    %c = Conv(%x, %w, %b) {pads = [1,1,1,1]}
    %y = Add(%c, %r)
  })");
  EXPECT_EQ(run.kernels, (std::vector<std::string>{"conv", "conv_sum"}));
}

// From the second value on, channels are last in memory: convolutions and the operators between them read and write
// this layout.

TEST_P(Conv, ChannelsLast) {
  const SimulatedRun run = check(R"(graph g(%x: f32[2,3,15,13]) -> (%y) {
    constant %w: f32[16,3,7,7] = random(1)
    constant %b: f32[16] = random(2)
    constant %v: f32[16,16,3,3] = random(3)
    constant %u: f32[10,16,1,1] = random(4)
    %s = Conv(%x, %w, %b) {pads = [3,3,3,3], strides = [2,2]}
    %p = MaxPool(%s) {kernel_shape = [3,3], pads = [1,1,1,1]}
    %c = Conv(%p, %v) {pads = [1,1,1,1]}
    %a = Add(%c, %p)
    %r = Relu(%a)
    %y = Conv(%r, %u)
  })",
                                 {}, 5);
  EXPECT_EQ(std::count(run.kernels.begin(), run.kernels.end(), "loop"), 2)
      << "the pool's and the copy of stacked taps, and none that transposes";
}

TEST_P(Conv, ChannelsLastOfGroupsDilationAndPads) {
  check(R"(graph g(%x: f32[2,16,11,9]) -> (%y) {
    constant %w: f32[32,16,1,1] = random(1)
    constant %v: f32[24,16,3,2] = random(2)
    constant %u: f32[24,8,2,2] = random(3)
    %a = Conv(%x, %w)
    %b = Conv(%a, %v) {group = 2, dilations = [2,1], pads = [2,0,1,1], strides = [1,2]}
    %c = Conv(%b, %u) {group = 3, strides = [2,1]}
    %y = Neg(%c)
  })",
        {}, 3);
}

TEST_P(Conv, ChannelsLastThroughOperatorsOfImages) {
  check(R"(graph g(%x: f32[1,8,6,10]) -> (%y, %m) {
    constant %w: f32[16,8,3,3] = random(1)
    constant %d: f32[16,1,3,3] = random(2)
    constant %e: f32[8,32,1,1] = random(3)
    %a = Conv(%x, %w) {pads = [1,1,1,1]}
    %b = Conv(%a, %d) {group = 16, pads = [1,1,1,1]}
    %c = Concat(%a, %b) {axis = 1}
    %q = AveragePool(%c) {kernel_shape = [2,2], strides = [2,2]}
    %h = HardSwish(%q)
    %y = Conv(%h, %e)
    %m = GlobalAveragePool(%h)
  })",
        {}, 3);
}

TEST_P(Conv, ChannelsLastOfOneAndThreeDimensions) {
  check(R"(graph g(%x: f32[2,4,23]) -> (%y) {
    constant %w: f32[24,4,5] = random(1)
    constant %v: f32[12,24,3] = random(2)
    %a = Conv(%x, %w) {pads = [2,1], strides = [2]}
    %y = Conv(%a, %v) {dilations = [2]}
  })",
        {}, 2);
  check(R"(graph g(%x: f32[1,4,5,6,7]) -> (%y) {
    constant %w: f32[8,4,2,3,3] = random(1)
    constant %v: f32[9,8,3,2,1] = random(2)
    %a = Conv(%x, %w) {auto_pad = "SAME_UPPER", strides = [1,2,1]}
    %y = Conv(%a, %v) {pads = [1,1,0,1,0,0]}
  })",
        {}, 2);
}

TEST_P(Conv, ChannelsLastOfSymbolicImages) {
  check(R"(graph g(%x: f32[n,5,h,w], %r: f32[h,1]) -> (%y) {
    constant %w: f32[20,5,3,3] = random(1)
    constant %v: f32[16,20,3,3] = random(2)
    constant %u: f32[8,16,1,1] = random(3)
    %a = Conv(%x, %w) {pads = [1,1,1,1]}
    %b = Mul(%a, %r)
    %c = Conv(%b, %v) {pads = [1,1,1,1]}
    %y = Conv(%c, %u)
  })",
        {{"n", 2}, {"h", 6}, {"w", 9}}, 3);
}

TEST_P(Conv, SumsThatAreLoopsJoinTheActivationAfterThem) {
  const SimulatedRun run = check(R"(graph g(%x: f32[1,8,6,6]) -> (%y) {
    constant %w: f32[8,1,3,3] = random(1)
    constant %b: f32[8] = random(2)
    constant %v: f32[16,8,1,1] = random(3)
    constant %zero: f32[] = {0}
    constant %six: f32[] = {0.5}
    %c = Conv(%x, %w, %b) {group = 8, pads = [1,1,1,1]}
    %d = Clip(%c, %zero, %six)
    %y = Conv(%d, %v)
  })",
                                 {}, 2);
  EXPECT_EQ(run.kernels.size(), 2U) << testing::PrintToString(run.kernels);
}

TEST_P(Conv, ChannelsLastCutIntoSlices) {
  const SimulatedRun run = check(R"(graph g(%x: f32[1,8,4,4], %r: f32[1,32,4,4]) -> (%y) {
    constant %w: f32[128,8,1,1] = random(1)
    constant %v: f32[32,128,3,3] = random(2)
    %a = Conv(%x, %w)
    %c = Conv(%a, %v) {pads = [1,1,1,1]}
    %s = Add(%c, %r)
    %y = Relu(%s)
  })",
                                 {}, 2);
  EXPECT_EQ(run.kernels.back(), "conv_sum");
}

}  // namespace
}  // namespace gcg::test
