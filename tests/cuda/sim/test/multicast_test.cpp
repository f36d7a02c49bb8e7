// Boxes that are copied to all blocks of a cluster, and barriers at which threads of other blocks arrive: values, and
// planted bugs.
#include "tests/cuda/sim/test/hopper_text.h"

namespace gart_sim {
namespace {

/// Each of two blocks copies half of the lines of every tile to both blocks. The two buffers of a tile are used in
/// turn.
struct Parts {
  std::string made = "gart_cluster_arrive(); gart_cluster_wait();";
  std::string expect = "gart_mbarrier_expect(full(s % 2), 2048);";
  std::string empty = "gart_mbarrier_try_wait(empty(s % 2), s / 2 % 2 ^ 1);";
  std::string blocks = "3";
  std::string release = "if (threadIdx.x < 2) gart_mbarrier_arrive_in_cluster(empty(s % 2), threadIdx.x);";
  std::string at_end = "gart_cluster_arrive_relaxed(); gart_cluster_wait();";
};
std::string text(const Parts& p) {
  return std::string(kHopperHead) + R"(
extern "C" __global__ void __launch_bounds__(64) __cluster_dims__(2, 1, 1) k(unsigned short* out, int steps,
    const __grid_constant__ Map map) {
  GART_SHARED(raw);
  const auto full = [&](int i) { return reinterpret_cast<unsigned long long*>(raw + 4096) + i; };
  const auto empty = [&](int i) { return full(2 + i); };
  const int rank = gart_cluster_rank();
  if (threadIdx.x == 0) {
    for (int i = 0; i < 2; ++i) gart_mbarrier_init(full(i), 1), gart_mbarrier_init(empty(i), 2);
    gart_mbarrier_init_fence();
  }
  )" + p.made +
         R"(
  if (threadIdx.x == 32) {
    for (int s = 0; s < steps; ++s) {
      )" +
         p.empty + p.expect + R"(
      const int at[2] = {0, 16 * s + 8 * rank};
      gart_copy_box_multicast(raw + s % 2 * 2048 + rank * 1024, map, at, full(s % 2), )" +
         p.blocks + R"(, 0ull);
    }
  }
  if (threadIdx.x < 32) {
    for (int s = 0; s < steps; ++s) {
      gart_mbarrier_try_wait(full(s % 2), s / 2 % 2);
      const unsigned short* tile = reinterpret_cast<unsigned short*>(raw + s % 2 * 2048);
      for (int i = threadIdx.x; i < 1024; i += 32)
        out[(blockIdx.x * steps + s) * 1024 + i] = tile[i / 64 * 64 + (i % 64 / 8 ^ i / 64 % 8) * 8 + i % 8];
      __syncwarp();
      )" +
         p.release + R"(
    }
  }
  __syncwarp();
  )" + p.at_end +
         "\n}\n";
}

constexpr int kSteps = 5;
LaunchResult run(const std::string& text, uint64_t seed, std::vector<unsigned short>* values = nullptr) {
  const auto module = load_hopper(text);
  std::vector<unsigned short> tensor(size_t{64} * 16 * kSteps);
  for (size_t i = 0; i < tensor.size(); ++i) tensor[i] = static_cast<unsigned short>(i);
  DeviceArray<unsigned short> in(tensor), out(std::vector<unsigned short>(2 * tensor.size()));
  take_reports();
  const LaunchResult result = launch(*module, "k", {2, 64, 4096 + 32, seed}, out.address(), kSteps,
                                     encoded(matrix_of_halves(in.address(), 64, 16 * kSteps, 8)));
  if (values != nullptr) *values = out.values();
  return result;
}

TEST(Multicast, brings_every_box_to_every_block) {
  for (const uint64_t seed : {0, 1, 5, 6, 7}) {
    std::vector<unsigned short> out;
    EXPECT_EQ(run(text({}), seed, &out).error, 0);
    EXPECT_EQ(take_reports(), std::vector<std::string>{});
    const size_t count = out.size() / 2;
    for (size_t i = 0; i < out.size(); ++i) ASSERT_EQ(out[i], static_cast<unsigned short>(i % count)) << i;
  }
}

struct PlantedBug {
  const char* name;
  Parts parts;
  std::string finding;
};
class MulticastBugs : public testing::TestWithParam<PlantedBug> {};
INSTANTIATE_TEST_SUITE_P(
    Planted, MulticastBugs,
    testing::Values(
        PlantedBug{"barriers_not_shown_to_the_cluster", {.made = "__syncthreads();"}, ""},
        PlantedBug{"expects_its_own_bytes_alone", {.expect = "gart_mbarrier_expect(full(s % 2), 1024);"}, ""},
        PlantedBug{"other_block_is_left_out", {.blocks = "1 << rank"}, "divergence"},
        PlantedBug{"block_that_is_not_there", {.blocks = "7"}, "out_of_bounds"},
        PlantedBug{"does_not_wait_until_tiles_are_read", {.empty = ""}, ""},
        PlantedBug{
            "other_block_is_not_told", {.release = "if (threadIdx.x < 2) gart_mbarrier_arrive(empty(s % 2));"}, ""},
        PlantedBug{"too_few_arrivals",
                   {.release = "if (threadIdx.x < 1) gart_mbarrier_arrive_in_cluster(empty(s % 2), rank);"},
                   "divergence"},
        PlantedBug{"block_ends_while_others_arrive", {.at_end = ""}, ""}),
    [](const auto& instance) { return std::string(instance.param.name); });
TEST_P(MulticastBugs, are_found_in_every_order) {
  for (const uint64_t seed : {0, 1, 5}) {
    EXPECT_NE(run(text(GetParam().parts), seed).error, 0) << seed;
    const std::vector<std::string> reports = take_reports();
    ASSERT_FALSE(reports.empty()) << seed;
    EXPECT_TRUE(reports[0].starts_with(GetParam().finding)) << reports[0];
  }
}

}  // namespace
}  // namespace gart_sim
