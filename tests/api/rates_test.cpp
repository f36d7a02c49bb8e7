// The peak rates with which a profile compares a GPU's kernels.
#include <gtest/gtest.h>

#include "gcc_graph/fleet.h"

namespace gcc_graph {
namespace {

TEST(RatesOfGpu, AreThoseOfTheUnitThatMultiplies) {
  const auto of = [](const char* note) { return rates_of_gpu("sm_90a", note).gflops; };
  const double whole = of("128x256x64 f16 wgmma, TMA, 4 stages, expected 9 us");
  EXPECT_NEAR(whole, 989e3, 0.1 * 989e3) << "NVIDIA's dense rate of an H100 SXM";
  EXPECT_EQ(of("64x64x64 bf16 wgmma, cluster of 2, 6 stages"), whole);
  EXPECT_EQ(of("128x64x32 3xtf32 wgmma, TMA, 6 stages"), whole / 6);
  EXPECT_LT(of("64x64x32 f16, 3 stages"), whole) << "mma.sync";
  EXPECT_EQ(of("64x64x32 f16, 3 stages"), 2 * of("64x64x32 tf32, 3 stages"));
  EXPECT_NEAR(of(""), 67e3, 0.1 * 67e3) << "its f32 rate";
  EXPECT_EQ(of("elements 4096, 4 per thread"), of(""));
  EXPECT_EQ(of("64x64x32 f32, 2 stages"), of(""));
}

}  // namespace
}  // namespace gcc_graph
