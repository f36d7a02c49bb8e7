#include "compiler/kernel/machine.h"

#include <gtest/gtest.h>

namespace gcg {
namespace {

TEST(Machines, EveryTargetHasARow) {
  for (const std::string& name : known_targets()) {
    const Target target = *find_target(name);
    const Machine& m = machine_of(target);
    EXPECT_GT(m.flops_per_second(), 1e10) << name;
    EXPECT_GT(m.bytes_per_second, 1e10) << name;
    if (target.device == DeviceClass::cpu) {
      EXPECT_GE(m.vector_bytes, 16) << name;
      EXPECT_GE(m.vector_registers, 16) << name;
      continue;
    }
    EXPECT_GE(m.shared_bytes, m.shared_block_bytes) << name;
    EXPECT_GT(m.resident_threads(), 10000) << name;
    EXPECT_EQ(m.has_async_copies, target.sm >= 80) << name;
    EXPECT_EQ(m.overlaps_launches, target.sm >= 90) << name;
  }
}

TEST(Machines, PtxHasNoMoreThanAnyGpuThatRunsIt) {
  const Machine& ptx = machine_of(*find_target("ptx"));
  for (const std::string& name : known_targets()) {
    const Target target = *find_target(name);
    if (target.sm < 80 || target.is_ptx()) continue;
    EXPECT_LE(ptx.shared_block_bytes, machine_of(target).shared_block_bytes) << name;
    EXPECT_LE(ptx.shared_bytes, machine_of(target).shared_bytes) << name;
    EXPECT_LE(ptx.threads, machine_of(target).threads) << name;
  }
}

TEST(Machines, SmallGpusAreNotTakenForLargeOnes) {
  const auto bandwidth = [](const char* name) { return machine_of(*find_target(name)).bytes_per_second; };
  EXPECT_LT(bandwidth("sm_75"), bandwidth("sm_80") / 4);
  EXPECT_LT(bandwidth("sm_110"), bandwidth("sm_100") / 4);
  EXPECT_TRUE(machine_of(*find_target("sm_87")).shares_memory);
  EXPECT_FALSE(machine_of(*find_target("sm_90")).shares_memory);
}

/// Measured on an H200: the L2 cache delivers 7.5 TB/s if all processors read, and 60 bytes per clock to a single one.
TEST(Machines, ProcessorsShareTheL2Cache) {
  const Machine& h200 = machine_of(*find_target("sm_90a"));
  EXPECT_NEAR(h200.l2_share(h200.processors) * h200.processors * h200.gigahertz * 1e9, 7.5e12, 0.5e12);
  EXPECT_EQ(h200.l2_share(10000), h200.l2_share(h200.processors));
  EXPECT_EQ(h200.l2_share(1), 60);
  EXPECT_GT(h200.l2_share(80), h200.l2_share(100));
}

}  // namespace
}  // namespace gcg
