// The bound that asynchronous replicas keep.
#include "tools/gcc-graph/train/staleness.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

namespace gcg::tools {
namespace {

TEST(Staleness, OneAfterTheOther) {
  Staleness s(2, 0);
  EXPECT_TRUE(s.can_begin());
  s.begin(0);
  EXPECT_FALSE(s.can_begin());
  EXPECT_TRUE(s.can_update(0));
  s.update(0);
  EXPECT_TRUE(s.can_begin());
  EXPECT_EQ(s.largest(), 0);
  EXPECT_EQ(s.updates(), 1);
}

TEST(Staleness, ASlowReplicaHoldsTheOthersBack) {
  Staleness s(2, 1);
  s.begin(0);
  s.begin(1);
  EXPECT_TRUE(s.can_update(1));
  s.update(1);
  EXPECT_TRUE(s.can_begin());
  s.begin(1);
  EXPECT_FALSE(s.can_update(1)) << "replica 0 is at the bound, so it must come first";
  EXPECT_TRUE(s.can_update(0));
  s.update(0);
  EXPECT_TRUE(s.can_update(1));
  s.update(1);
  EXPECT_EQ(s.largest(), 1);
  EXPECT_EQ(s.updates(), 3);
  EXPECT_NEAR(s.mean(), 2.0 / 3, 1e-12);
}

TEST(Staleness, AReplicaThatGivesUpHoldsNobodyBack) {
  Staleness s(2, 0);
  s.begin(0);
  s.drop(0);
  EXPECT_TRUE(s.can_begin());
}

/// Replicas finish in any order: the bound holds, and one of them can always go on.
TEST(Staleness, HoldsInAnyOrder) {
  std::mt19937 random(3);
  for (const size_t replicas : {1, 2, 3, 8})
    for (const int64_t limit : {0, 1, 2, 5, 20}) {
      Staleness s(replicas, limit);
      std::vector<bool> reads(replicas, false);
      for (int event = 0; event < 2000; ++event) {
        std::vector<size_t> may_begin, may_update;
        for (size_t r = 0; r < replicas; ++r) {
          if (!reads[r] && s.can_begin()) may_begin.push_back(r);
          if (reads[r] && s.can_update(r)) may_update.push_back(r);
        }
        ASSERT_FALSE(may_begin.empty() && may_update.empty()) << replicas << " replicas, limit " << limit;
        const size_t choice = random() % (may_begin.size() + may_update.size());
        if (choice < may_begin.size()) {
          reads[may_begin[choice]] = true;
          s.begin(may_begin[choice]);
        } else {
          reads[may_update[choice - may_begin.size()]] = false;
          s.update(may_update[choice - may_begin.size()]);
        }
      }
      EXPECT_LE(s.largest(), limit);
      EXPECT_GT(s.updates(), 0);
      if (limit >= static_cast<int64_t>(replicas)) EXPECT_GT(s.largest() + 1, static_cast<int64_t>(replicas) / 2);
    }
}

}  // namespace
}  // namespace gcg::tools
