#include "compiler/passes/expand_conv_transpose.h"

#include <gtest/gtest.h>

#include <tuple>

#include "compiler/passes/eliminate_dead_code.h"
#include "compiler/passes/split_by_phase.h"
#include "tests/passes/rewrite_test.h"

namespace gcg::test {
namespace {

using Counts = std::map<std::string, int>;

Graph expand(const std::string& x, const std::string& w, const std::string& attributes, bool changes = true,
             const std::map<std::string, int64_t>& symbols = {{"n", 2}, {"h", 5}, {"w", 4}}) {
  return check_rewrite("graph g(%x: f32[" + x + "]) -> (%y) {\n constant %w: f32[" + w + "] = random(1)\n" +
                           " constant %b: f32[6] = random(2)\n %y = ConvTranspose(%x, %w, %b) {" + attributes + "}\n}",
                       expand_conv_transpose, changes, symbols);
}

int convolutions(const Graph& graph) { return op_counts(graph)["Conv"]; }

TEST(ExpandConvTranspose, IsOneConvolutionForEachPhase) {
  const Graph upsampling = expand("n,8,h,w", "8,6,4,4", "strides = [2,2], pads = [1,1,1,1]");
  EXPECT_EQ(convolutions(upsampling), 4);
  EXPECT_EQ(op_counts(upsampling).at("gart.Interleave"), 1);
  const Graph stride_1 = expand("n,8,h,w", "8,6,3,3", "strides = [1,1]");
  EXPECT_EQ(convolutions(stride_1), 1);
  EXPECT_EQ(op_counts(stride_1).count("gart.Interleave"), 0u);
}

TEST(ExpandConvTranspose, TakesEveryForm) {
  expand("n,4,h,w", "4,6,3,3", "strides = [2,2], pads = [1,1,1,1], output_padding = [1,1]");
  expand("n,4,h,w", "4,6,2,2", "strides = [2,2]");
  expand("n,4,h,w", "4,6,5,3", "strides = [3,1], pads = [0,2,1,0]");
  expand("n,4,h,w", "4,6,3,2", "strides = [2,3], dilations = [2,1], output_padding = [1,2]");
  expand("n,4,h,w", "4,6,3,3", "strides = [4,2], dilations = [2,3], pads = [1,0,0,1]");
  expand("n,4,h,w", "4,6,3,3", "strides = [1,1], dilations = [2,2], pads = [2,2,2,2]");
  expand("n,6,h,w", "6,2,3,3", "strides = [2,2], group = 3, pads = [1,1,1,1]");
}

TEST(ExpandConvTranspose, TakesSignalsAndVolumes) {
  expand("n,4,w", "4,6,16", "strides = [8], pads = [4,4]");
  expand("n,4,w", "4,6,7", "strides = [5], pads = [1,2], output_padding = [2]");
  expand("n,4,2,h,w", "4,6,2,3,2", "strides = [2,2,1], pads = [0,1,0,0,1,1]");
}

TEST(ExpandConvTranspose, OfFewOutputsIsAProduct) {
  const auto few = [](const std::string& x, const std::string& w, const std::string& attributes) {
    const Graph after = check_rewrite(
        "graph g(%x: f32[" + x + "]) -> (%y) {\n constant %w: f32[" + w +
            "] = random(1)\n constant %b: f32[2] = random(2)\n %y = ConvTranspose(%x, %w, %b) {" + attributes + "}\n}",
        expand_conv_transpose, true, {{"n", 2}, {"h", 5}, {"w", 4}});
    EXPECT_EQ(convolutions(after), 0);
    EXPECT_EQ(op_counts(after).at("MatMul"), 1);
  };
  few("n,16,h,w", "16,2,4,4", "strides = [2,2], pads = [1,1,1,1]");
  few("n,16,h,w", "16,2,3,3", "strides = [1,1]");
  few("n,16,h,w", "16,2,5,3", "strides = [3,1], pads = [0,2,1,0], dilations = [1,2]");
  few("2,16,5,6", "16,2,3,3", "strides = [2,2], pads = [4,0,3,5]");
  few("n,16,w", "16,2,7", "strides = [5], pads = [1,2], output_padding = [2]");
  few("n,16,2,h,w", "16,2,2,3,2", "strides = [2,2,1], pads = [0,1,0,0,1,1]");
  few("n,16,h,w", "16,2,1,1", "strides = [2,2]");  // phases without taps
}

TEST(ExpandConvTranspose, OfPatchesIsAProduct) {
  for (const auto& [x, w, attributes] : {std::tuple("n,4,h,w", "4,6,8,8", "strides = [8,8]"),
                                         {"n,4,h,w", "4,6,3,7", "strides = [3,7]"},
                                         {"2,4,w", "4,6,20", "strides = [20]"},
                                         {"n,4,2,h,w", "4,6,2,3,4", "strides = [2,3,4]"}}) {
    const Graph after = expand(x, w, attributes);
    EXPECT_EQ(convolutions(after), 0);
    EXPECT_EQ(op_counts(after).at("MatMul"), 1);
  }
  expand("n,4,h,w", "4,3,8,8", "strides = [8,8], group = 2", false);
}

TEST(ExpandConvTranspose, OfPatchesThatOverlapIsAProduct) {
  for (const auto& [x, w, attributes] :
       {std::tuple("n,4,w", "4,6,80", "strides = [20]"),  // an inverse short-time Fourier transform
        {"n,4,w", "4,6,80", "strides = [20], pads = [40,40]"},
        {"n,4,w", "4,6,47", "strides = [20], pads = [3,5], output_padding = [7]"},
        {"n,4,w", "4,6,20", "strides = [17], output_padding = [16]"},
        {"n,4,h,w", "4,6,8,8", "strides = [8,8], pads = [1,0,1,0]"},
        {"n,4,h,w", "4,6,9,9", "strides = [8,8]"},
        {"n,4,h,w", "4,6,5,20", "strides = [3,7], pads = [1,2,3,0]"},
        {"2,4,5,6", "4,6,12,10", "strides = [4,5], output_shape = [20,30]"}}) {
    const Graph after = expand(x, w, attributes);
    EXPECT_EQ(convolutions(after), 0) << attributes;
    EXPECT_EQ(op_counts(after).at("MatMul"), 1) << attributes;
  }
  expand("n,4,w", "4,3,80", "strides = [20], group = 2", false);
  expand("n,4,w", "4,6,80", "strides = [20], dilations = [3]", false);
  expand("n,4,w", "4,6,1700", "strides = [20]", false);  // 85 patches overlap in each output
}

TEST(ExpandConvTranspose, GivesPhasesWithoutTapsTheBias) {
  const Graph after = expand("n,4,h,w", "4,6,1,1", "strides = [2,2]");
  EXPECT_EQ(convolutions(after), 1);
  EXPECT_EQ(op_counts(after).at("Expand"), 3);
  expand("n,4,w", "4,6,2", "strides = [5], output_padding = [3]");
}

TEST(ExpandConvTranspose, PaddingMayCutInputsOff) {
  expand("2,4,5,6", "4,6,3,3", "strides = [2,2], pads = [4,0,3,5]");
  expand("n,4,h,w", "4,6,1,1", "strides = [1,1], pads = [1,1,1,1]");
}

TEST(ExpandConvTranspose, LeavesWhatOnlyARunKnows) {
  expand("n,4,h,w", "4,6,3,3", "strides = [2,2], output_shape = [9,8]", false);
  expand("2,4,5,6", "4,6,3,3", "strides = [2,2], output_shape = [9,11]");
}

TEST(SplitByPhase, DoesPointwiseWorkBeforeInterleaving) {
  const Graph after =
      check_rewrite(R"(graph g(%a: f32[n,6,h], %b: f32[n,6,h]) -> (%y) {
    constant %s: f32[6,1] = random(1)
    %i = gart.Interleave(%a, %b) {axes = [2], steps = [2]}
    %m = Mul(%s, %i)
    %y = Relu(%m)
  })",
                    [](Graph& g) { return split_by_phase(g) && eliminate_dead_code(g); }, true, {{"n", 2}, {"h", 3}});
  EXPECT_EQ(op_counts(after), (Counts{{"Mul", 2}, {"Relu", 2}, {"gart.Interleave", 1}}));
}

TEST(SplitByPhase, LeavesOperandsThatDifferByPhase) {
  check_rewrite(R"(graph g(%a: f32[n,6,4], %b: f32[n,6,4], %c: f32[8]) -> (%y, %i) {
    %i = gart.Interleave(%a, %b) {axes = [2], steps = [2]}
    %j = gart.Interleave(%b, %a) {axes = [2], steps = [2]}
    %m = Mul(%j, %c)
    %y = Add(%m, %i)
  })",
                split_by_phase, false, {{"n", 2}});
}

}  // namespace
}  // namespace gcg::test
