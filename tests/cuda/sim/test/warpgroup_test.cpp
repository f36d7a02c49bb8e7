// Products of warpgroups: their values, and planted bugs that the simulation must find.
#include "tests/cuda/sim/test/run_text.h"

namespace gart_sim {
namespace {

/// One product of 64 x 64 over 16 depths of ones, from tiles of 64 lines of 128 bytes each; all sums are 16. Braces
/// mark the parts that bugs leave out or add.
std::string text(const std::string& proxy_fence, const std::string& fence, const std::string& in_flight,
                 const std::string& wait) {
  return R"(extern "C" __global__ void __launch_bounds__(128) k(float* out) {
  GART_SHARED(raw);
  unsigned short* tiles = reinterpret_cast<unsigned short*>(raw);
  for (int i = threadIdx.x; i < 2 * 64 * 64; i += 128) tiles[i] = 0x3c00;
  )" + proxy_fence +
         R"(
  __syncthreads();
  float sums[32];
  for (int i = 0; i < 32; ++i) sums[i] = 1.0f;
  )" + fence +
         R"(
  gart_wgmma<gart_wide_f16, 64, false, true>::ss(sums, gart_wgmma_descriptor(tiles, 8192, 1024),
                                                  gart_wgmma_descriptor(tiles + 64 * 64, 8192, 1024), 1);
  gart_wgmma_commit();
  )" + in_flight +
         wait + R"(
  for (int i = 0; i < 32; ++i) out[threadIdx.x * 32 + i] = sums[i];
})";
}

const char* const kProxyFence = "gart_fence_proxy_async();";
const char* const kFence = "gart_wgmma_fence();";
const char* const kWait = "gart_wgmma_wait<0>();";

LaunchResult run(const std::string& text, DeviceArray<float>& out, uint64_t seed) {
  const Compiled compiled = compile_for_host({"test.cu", text, {}}, {90, 'a', false});
  std::string error = compiled.log;
  const auto module = compiled.module.empty() ? nullptr : LoadedModule::load(compiled.module, error);
  EXPECT_NE(module, nullptr) << error;
  take_reports();
  return launch(*module, "k", {1, 128, 2 * 64 * 128, seed}, out.address());
}

TEST(Warpgroups, sums_are_there_after_the_wait) {
  DeviceArray<float> out(std::vector<float>(128 * 32));
  EXPECT_EQ(run(text(kProxyFence, kFence, "", kWait), out, 5).error, 0);
  EXPECT_EQ(take_reports(), std::vector<std::string>{});
  for (const float sum : out.values()) ASSERT_EQ(sum, 17.0f);
}

TEST(Warpgroups, sums_are_not_there_before_it) {
  DeviceArray<float> out(std::vector<float>(128 * 32));
  EXPECT_EQ(run(text(kProxyFence, kFence, "", ""), out, 5).error, 0);
  for (const float sum : out.values()) ASSERT_TRUE(sum != sum);
}

struct PlantedBug {
  const char* name;
  std::string text, finding;
};
class WarpgroupBugs : public testing::TestWithParam<PlantedBug> {};
INSTANTIATE_TEST_SUITE_P(
    Planted, WarpgroupBugs,
    testing::Values(PlantedBug{"missing_proxy_fence", text("", kFence, "", kWait), "async_product"},
                    PlantedBug{"missing_fence", text(kProxyFence, "", "", kWait), "async_product"},
                    PlantedBug{"sum_touched_in_flight", text(kProxyFence, kFence, "sums[3] = 2.0f;", kWait),
                               "async_product"},
                    PlantedBug{"tile_changed_in_flight",
                               text(kProxyFence, kFence, "tiles[threadIdx.x] = 0; gart_fence_proxy_async();", kWait),
                               "shared_race"}),
    [](const auto& instance) { return std::string(instance.param.name); });

TEST_P(WarpgroupBugs, are_found_in_every_order) {
  for (const uint64_t seed : {0, 1, 5}) {
    DeviceArray<float> out(std::vector<float>(128 * 32));
    EXPECT_EQ(run(GetParam().text, out, seed).error, 719);
    const std::vector<std::string> reports = take_reports();
    ASSERT_FALSE(reports.empty());
    EXPECT_TRUE(reports[0].starts_with(GetParam().finding)) << reports[0];
  }
}

}  // namespace
}  // namespace gart_sim
