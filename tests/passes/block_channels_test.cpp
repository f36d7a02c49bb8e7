#include "compiler/passes/block_channels.h"

#include <gtest/gtest.h>

#include "compiler/gir/gir.h"
#include "compiler/ops/infer.h"
#include "compiler/ops/op_def.h"
#include "compiler/passes/pass.h"
#include "tests/passes/rewrite_test.h"

namespace gcg::test {
namespace {

using Counts = std::map<std::string, int>;

Graph check(const std::string& text, bool changes = true, const std::map<std::string, int64_t>& symbols = {}) {
  return check_rewrite(text, [](Graph& g) { return block_channels(g, *find_target("x86-64-v3")); }, changes, symbols);
}

int conversions(const Graph& graph) {
  const Counts counts = op_counts(graph);
  const auto count = [&](const char* op) { return counts.count(op) != 0 ? counts.at(op) : 0; };
  return count("gart.BlockChannels") + count("gart.UnblockChannels");
}

TEST(BlockChannels, ConvertsOnlyWhereTheRegionEnds) {
  const Graph after = check(R"(graph g(%x: f32[n,3,9,8]) -> (%y) {
    constant %w0: f32[20,3,3,3] = random(1)
    constant %b0: f32[20] = random(2)
    constant %w1: f32[20,1,3,3] = random(3)
    constant %w2: f32[40,20,1,1] = random(4)
    constant %s: f32[40,1,1] = random(5)
    %c0 = Conv(%x, %w0, %b0) {strides = [2,2], pads = [1,1,1,1]}
    %r0 = Relu(%c0)
    %c1 = Conv(%r0, %w1) {group = 20, pads = [1,1,1,1]}
    %c2 = Conv(%c1, %w2)
    %m = Mul(%c2, %s)
    %p = MaxPool(%m) {kernel_shape = [2,2], strides = [2,2]}
    %y = Relu(%p)
  })",
                            true, {{"n", 2}});
  EXPECT_EQ(op_counts(after), (Counts{{"gart.PackConv", 3},
                                      {"gart.BlockedConv", 3},
                                      {"Add", 1},
                                      {"Relu", 2},
                                      {"Mul", 1},
                                      {"gart.BlockedMaxPool", 1},
                                      {"gart.UnblockChannels", 1}}));
}

TEST(BlockChannels, TakesWinogradsFormWhereItIsFaster) {
  const auto counts = [](const std::string& conv) {
    return op_counts(
        check("graph g(%x: f32[1,32,16,16]) -> (%y) {\n  constant %w: f32[32,32,3,3] = random(1)\n" + conv + "}"));
  };
  const Counts fast = counts("  %y = Conv(%x, %w) {pads = [1,1,1,1]}\n");
  EXPECT_EQ(fast.at("gart.WinogradConv"), 1);
  EXPECT_EQ(fast.at("gart.WinogradWeights"), 1);
  EXPECT_EQ(counts("  %y = Conv(%x, %w) {strides = [2,2]}\n").count("gart.WinogradConv"), 0);
  EXPECT_EQ(counts("  %y = Conv(%x, %w) {dilations = [2,2]}\n").count("gart.WinogradConv"), 0);
  Target narrow = *find_target("x86-64-v3");
  narrow.precision = Precision::fp16;  // 16-bit weights are smaller than the weights of Winograd's algorithm
  Graph graph = parse_graph(
      "graph g(%x: f32[1,32,16,16]) -> (%y) {\n  constant %w: f32[32,32,3,3] = random(1)\n"
      "  %y = Conv(%x, %w) {pads = [1,1,1,1]}\n}");
  infer_graph(graph);
  block_channels(graph, narrow);
  EXPECT_EQ(op_counts(graph).count("gart.WinogradConv"), 0);
}

TEST(BlockChannels, FollowsResidualsAndPools) {
  const Graph after = check(R"(graph g(%x: f32[1,16,h,w]) -> (%y, %more) {
    constant %w0: f32[16,16,3,3] = random(1)
    constant %w1: f32[16,16,3,3] = random(2)
    %c0 = Conv(%x, %w0) {pads = [1,1,1,1]}
    %c1 = Conv(%c0, %w1) {pads = [1,1,1,1]}
    %sum = Add(%c1, %c0)
    %p = AveragePool(%sum) {kernel_shape = [3,2], pads = [1,0,1,1], ceil_mode = 1}
    %more = Add(%sum, %x)
    %y = GlobalMaxPool(%p)
  })",
                            true, {{"h", 5}, {"w", 7}});
  const Counts counts = op_counts(after);
  EXPECT_EQ(counts.at("gart.BlockedConv"), 2);
  EXPECT_EQ(conversions(after), 2);    // %x once, although two nodes read it; %more as an output
  EXPECT_EQ(counts.at("Reshape"), 1);  // only a view, because channels have one point and blocks are full
}

TEST(BlockChannels, GatesStayBlocked) {
  const Graph after = check(R"(graph g(%x: f32[2,32,4,4]) -> (%y) {
    constant %w0: f32[32,32,1,1] = random(1)
    constant %w1: f32[8,32,1,1] = random(2)
    constant %w2: f32[32,8,1,1] = random(3)
    constant %axes: i64[2] = {2, 3}
    %c = Conv(%x, %w0)
    %m = ReduceMean(%c, %axes)
    %s = Conv(%m, %w1)
    %r = Relu(%s)
    %e = Conv(%r, %w2)
    %g = Sigmoid(%e)
    %y = Mul(%c, %g)
  })");
  EXPECT_EQ(conversions(after), 2);
}

TEST(BlockChannels, MasksStayBlocked) {
  const Graph after = check(R"(graph g(%x: f32[2,16,5,4]) -> (%y) {
    constant %w: f32[20,16,1,1] = random(1)
    constant %v: f32[8,20,1,1] = random(2)
    constant %limit: f32[] = {0.25}
    %c = Conv(%x, %w)
    %large = Greater(%c, %limit)
    %spikes = Cast(%large) {to = 1}
    %kept = Where(%large, %c, %limit)
    %sum = Add(%kept, %spikes)
    %y = Conv(%sum, %v)
  })");
  EXPECT_EQ(op_counts(after).at("gart.BlockedConv"), 2);
  EXPECT_EQ(conversions(after), 2);  // conversions of the input and the output
}

TEST(BlockChannels, ReducesToVectors) {
  for (const char* channels : {"32", "20"}) {
    const Graph after = check(std::string(R"(graph g(%x: f32[n,16,4,4]) -> (%y) {
      constant %w: f32[)") + channels +
                                  R"(,16,1,1] = random(1)
      constant %axes: i64[2] = {-1, -2}
      %c = Conv(%x, %w)
      %y = ReduceMean(%c, %axes) {keepdims = 0}
    })",
                              true, {{"n", 3}});
    EXPECT_EQ(op_counts(after).at("ReduceMean"), 1);
  }
}

TEST(BlockChannels, ResizesPlanesInPlace) {
  for (const char* resize : {"%r = Resize(%c, _, %scales)", "%r = Resize(%c, _, _, %sizes) {mode = \"linear\"}",
                             "%r = Resize(%c, _, %two) {mode = \"linear\", axes = [-1,2]}"}) {
    const Graph after = check(std::string(R"(graph g(%x: f32[n,16,4,5]) -> (%y) {
      constant %w: f32[20,16,1,1] = random(1)
      constant %scales: f32[4] = {1, 1, 2, 1.5}
      constant %two: f32[2] = {0.5, 3}
      constant %chw: i64[3] = {20, 7, 9}
      %c = Conv(%x, %w)
      %batch = Shape(%x) {start = 0, end = 1}
      %sizes = Concat(%batch, %chw) {axis = 0}
      )") + resize + "\n constant %v: f32[4,20,1,1] = random(2)\n %y = Conv(%r, %v)\n}",
                              true, {{"n", 3}});
    EXPECT_EQ(op_counts(after).at("Resize"), 1);
    EXPECT_EQ(conversions(after), 2);
    for (NodeId id : after.order()) {
      if (std::string_view(after.node(id).op->name) != "Resize") continue;
      EXPECT_EQ(after.value(after.node(id).outputs[0]).shape->size(), 5u) << "blocked";
    }
  }
  const Graph along_channels = check(R"(graph g(%x: f32[n,16,4,5]) -> (%y) {
    constant %w: f32[20,16,1,1] = random(1)
    constant %scales: f32[4] = {1, 2, 2, 1}
    %c = Conv(%x, %w)
    %y = Resize(%c, _, %scales)
  })",
                                     true, {{"n", 3}});
  EXPECT_EQ(along_channels.value(along_channels.outputs[0]).shape->size(), 4u);
}

TEST(BlockChannels, WhatIsEnlargedAtTheEndOfARegionIsPlain) {
  const auto rank_after = [](const std::string& scale, const std::string& rest) {
    const Graph after =
        check("graph g(%x: f32[n,16,4,6]) -> (%y) {\n constant %w: f32[19,16,1,1] = random(1)\n" +
                  std::string(" constant %v: f32[4,19,1,1] = random(2)\n constant %s: f32[4] = ") + scale +
                  "\n %c = Conv(%x, %w)\n %r = Resize(%c, _, %s) {mode = \"linear\"}\n" + rest + "}",
              true, {{"n", 2}});
    for (NodeId id : after.order())
      if (std::string_view(after.node(id).op->name) == "Resize")
        return after.value(after.node(id).outputs[0]).shape->size();
    return size_t{0};
  };
  const std::string enlarges = "{1, 1, 4, 4}";
  EXPECT_EQ(rank_after(enlarges, " %y = Sigmoid(%r)\n"), 4u);
  EXPECT_EQ(rank_after(enlarges, " %t = Relu(%r)\n %y = ArgMax(%t) {axis = 1}\n"), 4u);
  EXPECT_EQ(rank_after("{1, 1, 0.5, 0.5}", " %y = Sigmoid(%r)\n"), 5u);
  EXPECT_EQ(rank_after(enlarges, " %t = Relu(%r)\n %y = Conv(%t, %v)\n"), 5u);
  EXPECT_EQ(rank_after(enlarges, " %t = Resize(%c, _, %s)\n %u = Add(%r, %t)\n %y = Conv(%u, %v)\n"), 5u);
}

TEST(BlockChannels, TakesOneDimensionalConvolutions) {
  const Graph after = check(R"(graph g(%x: f32[n,1,l]) -> (%y, %v) {
    constant %w0: f32[24,1,5] = random(1)
    constant %b0: f32[24] = random(2)
    constant %w1: f32[24,1,3] = random(3)
    constant %k: f32[24,1] = random(4)
    constant %axes: i64[1] = {2}
    %c0 = Conv(%x, %w0, %b0) {strides = [2], pads = [2,1]}
    %r = Relu(%c0)
    %c1 = Conv(%r, %w1) {group = 24, pads = [1,1]}
    %m = Mul(%c1, %k)
    %p = MaxPool(%m) {kernel_shape = [2], pads = [0,1]}
    %y = Relu(%p)
    %v = ReduceMax(%p, %axes) {keepdims = 0}
  })",
                            true, {{"n", 2}, {"l", 9}});
  EXPECT_EQ(op_counts(after).at("gart.BlockedConv"), 2);
}

TEST(BlockChannels, TakesEveryBroadcastOperand) {
  const Graph after =
      check(R"(graph g(%x: f32[2,16,3,5], %row: f32[5], %plane: f32[2,1,3,5], %one: f32[1,1,1,1]) -> (%y) {
    constant %w: f32[17,16,1,1] = random(1)
    constant %full: f32[2,17,3,5] = random(2)
    constant %column: f32[3,1] = random(3)
    constant %scalar: f32[] = {0.5}
    constant %low: f32[] = {-1}
    %c = Conv(%x, %w)
    %a = Add(%c, %row)
    %b = Mul(%plane, %a)
    %d = Add(%b, %one)
    %e = Sub(%full, %d)
    %f = Mul(%e, %column)
    %g = Mul(%f, %scalar)
    %y = Clip(%g, %low, _)
  })");
  EXPECT_EQ(conversions(after), 2);
}

std::string joined(int first, int second) {
  const std::string a = std::to_string(first), b = std::to_string(second);
  return "graph g(%x: f32[2,16,3,5], %z: f32[2,8,3,5]) -> (%y) {\n"
         "  constant %w: f32[" +
         a +
         ",16,1,1] = random(1)\n"
         "  constant %v: f32[" +
         b +
         ",16,1,1] = random(2)\n"
         "  %c = Conv(%x, %w)\n"
         "  %d = Conv(%x, %v)\n"
         "  %j = Concat(%c, %d, %z) {axis = 1}\n"
         "  %y = Relu(%j)\n"
         "}";
}

TEST(BlockChannels, JoinsWholeBlocksOnly) {
  const Counts whole = op_counts(check(joined(32, 16)));
  EXPECT_EQ(whole.at("gart.BlockChannels"), 2);    // %x, %z
  EXPECT_EQ(whole.at("gart.UnblockChannels"), 1);  // %y
  // The lanes past channel 20 must not lie between channels of the result.
  const Counts torn = op_counts(check(joined(20, 16)));
  EXPECT_EQ(torn.at("gart.BlockChannels"), 1);    // %x
  EXPECT_EQ(torn.at("gart.UnblockChannels"), 2);  // %c, %d
}

TEST(BlockChannels, DoesNotDrawMostlyPlainChannelsIn) {
  const Graph after = check(R"(graph g(%x: f32[1,16,3,5], %z: f32[1,32,3,5]) -> (%y) {
    constant %w: f32[16,16,1,1] = random(1)
    %c = Conv(%x, %w)
    %j = Concat(%c, %z) {axis = 1}
    %y = Relu(%j)
  })");
  EXPECT_EQ(op_counts(after).at("gart.BlockChannels"), 1);    // %x
  EXPECT_EQ(op_counts(after).at("gart.UnblockChannels"), 1);  // %c
}

TEST(BlockChannels, LeavesWhatIsNotWorthIt) {
  // No convolution.
  check(R"(graph g(%x: f32[1,16,4,4]) -> (%y) {
    %r = Relu(%x)
    %y = MaxPool(%r) {kernel_shape = [2,2]}
  })",
        false);
  // Unknown channel counts, other types.
  check(R"(graph g(%x: f32[1,c,4,4], %w: f32[16,c,1,1]) -> (%y) {
    %y = Conv(%x, %w)
  })",
        false, {{"c", 3}});
  check(R"(graph g(%x: f64[1,16,4,4]) -> (%y) {
    constant %w: f64[16,16,1,1] = random(1)
    %y = Conv(%x, %w)
  })",
        false);
}

TEST(BlockChannels, PacksWeightsOfARunThen) {
  const Graph after = check(R"(graph g(%x: f32[n,17,l], %w: f32[24,17,3], %b: f32[24]) -> (%y) {
    %c = Conv(%x, %w, %b) {pads = [2,0]}
    %y = Relu(%c)
  })",
                            true, {{"n", 2}, {"l", 7}});
  EXPECT_EQ(op_counts(after).at("gart.BlockedConv"), 1);
  EXPECT_EQ(op_counts(after).at("gart.BlockChannels"), 2);  // conversions of the input and the bias
}

TEST(BlockChannels, TakesGroups) {
  const Graph after = check(R"(graph g(%x: f32[1,48,4,l]) -> (%y) {
    constant %w0: f32[48,8,3,3] = random(1)
    constant %w1: f32[96,16,1,1] = random(2)
    constant %w2: f32[12,8,1,1] = random(3)
    %c0 = Conv(%x, %w0) {group = 6, pads = [1,1,1,1]}
    %c1 = Conv(%c0, %w1) {group = 3}
    %y = Conv(%c1, %w2) {group = 12}
  })",
                            true, {{"l", 5}});
  EXPECT_EQ(op_counts(after).at("gart.BlockedConv"), 3);
  EXPECT_EQ(conversions(after), 2);
}

TEST(BlockChannels, TakesThreeDimensions) {
  const Graph after = check(R"(graph g(%x: f32[n,3,d,6,5]) -> (%y, %v, %u) {
    constant %w0: f32[20,3,3,3,3] = random(1)
    constant %b0: f32[20] = random(2)
    constant %w1: f32[20,1,3,1,1] = random(3)
    constant %s: f32[20,1,1,1] = random(4)
    constant %axes: i64[3] = {2, 3, 4}
    constant %rows: i64[1] = {3}
    %c0 = Conv(%x, %w0, %b0) {strides = [1,2,2], pads = [1,1,1,1,1,1]}
    %r = Relu(%c0)
    %c1 = Conv(%r, %w1) {group = 20, pads = [1,0,0,1,0,0]}
    %m = Mul(%c1, %s)
    %p = MaxPool(%m) {kernel_shape = [2,2,1], strides = [1,1,1]}
    %a = Add(%p, %p)
    %y = GlobalAveragePool(%a)
    %v = ReduceMax(%a, %axes) {keepdims = 0}
    %u = ReduceSum(%a, %rows)
  })",
                            true, {{"n", 2}, {"d", 4}});
  EXPECT_EQ(op_counts(after).at("gart.BlockedConv"), 2);
  EXPECT_EQ(op_counts(after).at("gart.BlockedMaxPool"), 1);
  EXPECT_EQ(conversions(after), 3);  // for the three results; the first convolution reads the unblocked input
}

TEST(BlockChannels, PlainWorkBeforeTheRegionStaysPlain) {
  const Graph after = check(R"(graph g(%x: f32[1,16,4,4], %gate: f32[1,16,1,1]) -> (%y) {
    constant %w: f32[16,16,1,1] = random(1)
    %r = Relu(%x)
    %c = Conv(%gate, %w)
    %y = Mul(%r, %c)
  })");
  const Counts counts = op_counts(after);
  EXPECT_EQ(conversions(after), 0);  // the gate is a view in both layouts, so %r does not become blocked
  EXPECT_EQ(counts.at("Reshape"), 2);
}

// %c f32[16,1,1] is not an activation of one channel.
TEST(BlockChannels, ChannelsMayComeAtRunTime) {
  const Graph after =
      check(R"(graph g(%x: f32[2,4,9,11], %w: f32[16,4,3,3], %c: f32[16,1,1], %d: f32[1,16,1,1]) -> (%y) {
    %p = Conv(%x, %w)
    %s = Mul(%p, %c)
    %t = Add(%s, %d)
    %y = MaxPool(%t) {kernel_shape = [3,3]}
  })");
  EXPECT_EQ(op_counts(after).at("gart.BlockedMaxPool"), 1) << "the region goes on";
}

TEST(BlockChannels, WeightsThatAreKeptHaveNoFormOfTheirOwn) {
  constexpr const char* kText = R"(graph g(%x: f32[1,64,30,30]) -> (%y) {
    constant %w: f32[64,64,3,3] = random(1)
    %y = Conv(%x, %w)
  })";
  for (const bool keeps_weights : {false, true}) {
    Graph graph = parse_graph(kText);
    infer_graph(graph);
    EXPECT_TRUE(block_channels(graph, *find_target("x86-64-v4"), keeps_weights));
    EXPECT_EQ(op_counts(graph).count("gart.WinogradConv"), keeps_weights ? 0U : 1U);
  }
}

TEST(DevicePasses, AreThoseOfTheirClass) {
  const auto runs = [](DeviceClass device, const std::string& name) {
    for (const PassGroup& group : device_passes(device))
      for (const Pass& pass : group.passes)
        if (pass.name == name) return true;
    return false;
  };
  for (const char* name : {"block-channels", "pack-weights", "narrow-weights"}) {
    EXPECT_TRUE(runs(DeviceClass::cpu, name) && !runs(DeviceClass::cuda, name)) << name;
  }
  for (const char* name : {"pack-conv-weights", "narrow-storage", "channels-last"}) {
    EXPECT_TRUE(runs(DeviceClass::cuda, name) && !runs(DeviceClass::cpu, name)) << name;
  }
}

}  // namespace
}  // namespace gcg::test
