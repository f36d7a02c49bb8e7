// Normalisations between convolutions stay in blocked layout.
#include <gtest/gtest.h>

#include "compiler/passes/block_channels.h"
#include "tests/passes/rewrite_test.h"

namespace gcg::test {
namespace {

using Counts = std::map<std::string, int>;

Counts blocked(const std::string& norm, const std::string& weights, int channels) {
  const std::string c = std::to_string(channels);
  const Graph after = check_rewrite(
      "graph g(%x: f32[n,3,h,w]) -> (%y) {\n"
      "constant %w0: f32[" +
          c +
          ",3,3,3] = random(1)\n"
          "constant %w1: f32[" +
          c + "," + c + ",1,1] = random(2)\n" + weights + "%c = Conv(%x, %w0)\n%i = " + norm +
          "\n%r = Relu(%i)\n%y = Conv(%r, %w1)\n}",
      [](Graph& g) { return block_channels(g, *find_target("x86-64-v3")); }, true, {{"n", 2}, {"h", 6}, {"w", 5}});
  return op_counts(after);
}

std::string weight(const char* name, int count) {
  return std::string("constant %") + name + ": f32[" + std::to_string(count) + "] = random(" + std::to_string(count) +
         ")\n";
}

TEST(BlockNorms, InstancesAreChannels) {
  const Counts counts = blocked("InstanceNormalization(%c, %s, %t)", weight("s", 32) + weight("t", 32), 32);
  EXPECT_EQ(counts.at("gart.UnblockChannels"), 1);  // of the result
  EXPECT_EQ(counts.count("gart.BlockChannels"), 0u);
  EXPECT_EQ(counts.at("ReduceMean"), 2);
  EXPECT_EQ(counts.at("gart.BlockedConv"), 2);
}

TEST(BlockNorms, GroupsOfChannels) {
  for (const char* form :
       {"GroupNormalization(%c, %s, %t) {num_groups = 4}", "GroupNormalization(%c, %s, %t) {num_groups = 32}"}) {
    const Counts counts = blocked(form, weight("s", 32) + weight("t", 32), 32);
    EXPECT_EQ(counts.at("gart.UnblockChannels"), 1) << form;
    EXPECT_EQ(counts.count("gart.BlockChannels"), 0u) << form;
  }
}

TEST(BlockNorms, WeightsOfGroups) {
  const Counts counts = blocked("GroupNormalization(%c, %s, %t) {num_groups = 4, scale_per_group = 1}",
                                weight("s", 4) + weight("t", 4), 32);
  EXPECT_EQ(counts.at("gart.UnblockChannels"), 1);
}

/// Lanes past the last channel do not count in a group's statistics.
TEST(BlockNorms, ChannelsThatFillNoBlock) {
  blocked("GroupNormalization(%c, %s, %t) {num_groups = 3}", weight("s", 21) + weight("t", 21), 21);
  blocked("GroupNormalization(%c, %s, %t) {num_groups = 1}", weight("s", 8) + weight("t", 8), 8);
  blocked("InstanceNormalization(%c, %s, %t)", weight("s", 5) + weight("t", 5), 5);
}

TEST(BlockNorms, WhatIsNotBlockedStays) {
  check_rewrite(R"(graph g(%x: f32[2,32,4,4]) -> (%y) {
    constant %s: f32[32] = random(1)
    constant %t: f32[32] = random(2)
    %y = InstanceNormalization(%x, %s, %t)
  })",
                [](Graph& g) { return block_channels(g, *find_target("x86-64-v3")); }, false, {});
}

}  // namespace
}  // namespace gcg::test
