// Property tests of the arena with random lifetimes: placements are valid, near the lower bound and deterministic.
#include "compiler/plan/arena.h"

#include <gtest/gtest.h>

#include <numeric>
#include <random>

#include "compiler/support/error.h"

namespace gcg {
namespace {

std::vector<ArenaBlock> random_blocks(uint32_t seed, int count, int steps) {
  std::mt19937 random(seed);
  std::vector<ArenaBlock> blocks(static_cast<size_t>(count));
  for (ArenaBlock& b : blocks) {
    b.size = static_cast<int64_t>(random() % 5000);
    if (random() % 16 == 0) b.size = 0;
    b.first = static_cast<int>(random() % static_cast<uint32_t>(steps));
    b.last = std::min(steps, b.first + static_cast<int>(random() % 6));
  }
  for (size_t i = 0; i < blocks.size(); ++i)
    for (size_t j = 0; j < i; ++j)
      if (blocks[i].first <= blocks[j].last && blocks[j].first <= blocks[i].last) {
        blocks[i].conflicts.push_back(static_cast<int>(j));
        blocks[j].conflicts.push_back(static_cast<int>(i));
      }
  return blocks;
}

TEST(Arena, RandomLifetimesNeverOverlapAndStayNearTheBound) {
  double worst = 1;
  for (uint32_t seed = 0; seed < 200; ++seed) {
    const auto blocks = random_blocks(seed, 5 + static_cast<int>(seed % 60), 40);
    const ArenaLayout layout = plan_arena(blocks);
    for (size_t i = 0; i < blocks.size(); ++i) {
      EXPECT_EQ(layout.offsets[i] % 64, 0);
      EXPECT_LE(layout.offsets[i] + blocks[i].size, layout.bytes);
      for (int c : blocks[i].conflicts) {
        const auto j = static_cast<size_t>(c);
        const bool apart = layout.offsets[i] + blocks[i].size <= layout.offsets[j] ||
                           layout.offsets[j] + blocks[j].size <= layout.offsets[i];
        EXPECT_TRUE(apart || blocks[i].size == 0 || blocks[j].size == 0)
            << "seed " << seed << " blocks " << i << ", " << j;
      }
    }
    EXPECT_GE(layout.bytes, layout.lower_bound);
    if (layout.lower_bound > 0)
      worst = std::max(worst, static_cast<double>(layout.bytes) / static_cast<double>(layout.lower_bound));
  }
  EXPECT_LE(worst, 1.25) << "the packer has become worse";
}

TEST(Arena, AChainOfEqualBlocksReachesTheBound) {
  std::vector<ArenaBlock> blocks(10);
  for (int i = 0; i < 10; ++i) {
    auto& b = blocks[static_cast<size_t>(i)];
    b.size = 1000;
    b.first = i;
    b.last = i + 1;
    if (i > 0) {
      b.conflicts.push_back(i - 1);
      blocks[static_cast<size_t>(i) - 1].conflicts.push_back(i);
    }
  }
  const ArenaLayout layout = plan_arena(blocks);
  EXPECT_EQ(layout.lower_bound, 2048);
  EXPECT_EQ(layout.bytes, 2048);
}

TEST(Arena, TheSameBlocksGiveTheSameLayout) {
  const auto blocks = random_blocks(7, 80, 50);
  EXPECT_EQ(plan_arena(blocks).offsets, plan_arena(blocks).offsets);
}

TEST(Arena, VerifyCatchesAnOverlap) {
  std::vector<ArenaBlock> blocks(2);
  blocks[0] = {100, {1}, 0, 1};
  blocks[1] = {100, {0}, 1, 2};
  ArenaLayout layout = plan_arena(blocks);
  layout.offsets[1] = layout.offsets[0];
  EXPECT_THROW(verify_arena(blocks, layout), InternalError);
  layout.offsets[1] = layout.bytes;
  EXPECT_THROW(verify_arena(blocks, layout), InternalError);
}

}  // namespace
}  // namespace gcg
