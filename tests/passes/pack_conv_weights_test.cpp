#include "compiler/passes/pack_conv_weights.h"

#include <gtest/gtest.h>

#include "compiler/fusion/fuse.h"
#include "compiler/lowering/lower_group.h"
#include "compiler/ops/infer.h"
#include "tests/passes/rewrite_test.h"

namespace gcg::test {
namespace {

using Counts = std::map<std::string, int>;

Graph check(const std::string& text, bool changes, const std::map<std::string, int64_t>& symbols = {}) {
  return check_rewrite(text, [](Graph& g) { return pack_conv_weights(g); }, changes, symbols);
}

TEST(PackConvWeights, TurnsConvolutionsOfAnyForm) {
  const Graph after = check(R"(graph g(%x: f32[n,4,h,9]) -> (%y) {
    constant %w: f32[6,4,3,3] = random(1)
    constant %b: f32[6] = random(2)
    %c = Conv(%x, %w, %b) {pads = [1,0,2,1], strides = [2,1], kernel_shape = [3,3]}
    constant %v: f32[8,3,2,1] = random(3)
    %y = Conv(%c, %v) {group = 2, dilations = [2,1], auto_pad = "SAME_LOWER"}
  })",
                            true, {{"n", 2}, {"h", 8}});
  EXPECT_EQ(op_counts(after), (Counts{{"Transpose", 2}, {"gart.PlainConv", 2}}));
}

TEST(PackConvWeights, LeavesInfiniteWeights) {
  check(R"(graph g(%x: f32[1,1,4,4]) -> (%y) {
    constant %w: f32[2,1,2,2] = {1, 2, 3, inf, 1, 2, 3, 4}
    %y = Conv(%x, %w) {pads = [1,1,1,1]}
  })",
        false);
}

TEST(PackConvWeights, TurnsOneAndThreeDimensions) {
  const Graph after = check(R"(graph g(%x: f32[2,3,11], %z: f32[1,2,4,5,6], %w: f32[4,3,5]) -> (%y, %v) {
    constant %u: f32[3,2,2,1,3] = random(2)
    %y = Conv(%x, %w) {strides = [3], pads = [2,1]}
    %v = Conv(%z, %u) {pads = [0,1,1,1,0,2]}
  })",
                            true);
  EXPECT_EQ(op_counts(after), (Counts{{"Transpose", 2}, {"gart.PlainConv", 2}}));
}

TEST(PackConvWeights, TransposesSharedWeightsOnce) {
  const Graph after = check(R"(graph g(%x: f32[1,4,5,5]) -> (%y) {
    constant %w: f32[4,4,3,3] = random(1)
    %c = Conv(%x, %w) {pads = [1,1,1,1]}
    %y = Conv(%c, %w)
  })",
                            true);
  EXPECT_EQ(op_counts(after), (Counts{{"Transpose", 1}, {"gart.PlainConv", 2}}));
}

/// Weights with one input channel per group are stored by taps, so that neighbouring channels are adjacent in memory.
TEST(PackConvWeights, StoresDepthwiseWeightsByTaps) {
  const Graph g = check(R"(graph g(%x: f32[1,4,5,5]) -> (%y) {
    constant %w: f32[8,1,3,3] = random(1)
    %y = Conv(%x, %w) {group = 4}
  })",
                        true);
  const Node& conv = g.node(g.value(g.outputs[0]).producer);
  EXPECT_EQ(conv.int_attribute("depthwise", 0), 1);
  EXPECT_EQ(g.value(conv.inputs[1]).shape->at(3), Dim(8));
}

TEST(PackConvWeights, LeavesOtherTypes) {
  check(R"(graph g(%x: f64[1,4,5,5]) -> (%y) {
    constant %w: f64[8,4,3,3] = random(1)
    %y = Conv(%x, %w)
  })",
        false);
}

/// The kernel of the graph's only contraction after the pass.
PlainConvKernel kernel_of(const std::string& text) {
  const Graph g = check(text, true, {{"n", 2}});
  const Fusion fusion = fuse(g);
  for (const FusionGroup& group : fusion.groups)
    if (group.kind == FusionGroup::Kind::conv)
      return std::get<PlainConvKernel>(lower_group(g, fusion, group).kernel.body);
  ADD_FAILURE() << "no convolution";
  return {};
}

TEST(PackConvWeights, TheKernelTakesBiasAndEpilogueAndMergesPositions) {
  const PlainConvKernel k = kernel_of(R"(graph g(%x: f32[n,4,8,9], %r: f32[n,6,8,5]) -> (%y) {
    constant %w: f32[6,4,3,3] = random(1)
    constant %b: f32[6] = random(2)
    %c = Conv(%x, %w, %b) {pads = [1,1,1,1], strides = [1,2]}
    %s = Add(%c, %r)
    %y = Relu(%s)
  })");
  EXPECT_EQ(k.batch, Dim::symbol("n"));
  ASSERT_EQ(k.spatial.size(), 2U);
  EXPECT_TRUE(k.spatial[1].output.is(5));
  EXPECT_EQ(k.spatial[1].stride, 2);
  ASSERT_EQ(k.position.size(), 1U);
  EXPECT_TRUE(k.position[0].extent.is(40));
  int loads = 0;
  visit(k.epilogue, [&](const ExprNode& n) { loads += n.kind == ExprKind::load; });
  EXPECT_EQ(loads, 2);
}

TEST(PackConvWeights, TheKernelKeepsPositionsThatTheEpilogueReadsApart) {
  const PlainConvKernel k = kernel_of(R"(graph g(%x: f32[n,4,8,8], %r: f32[8,1]) -> (%y) {
    constant %w: f32[6,4,1,1] = random(1)
    %c = Conv(%x, %w)
    %y = Mul(%c, %r)
  })");
  EXPECT_EQ(k.position.size(), 2U);
}

}  // namespace
}  // namespace gcg::test
