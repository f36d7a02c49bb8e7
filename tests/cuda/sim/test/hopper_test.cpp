// Kernels in the form that is generated for sm_90a (hopper_text.h): their values in every order, and planted bugs.
#include <cmath>

#include "tests/cuda/sim/test/hopper_text.h"

namespace gart_sim {
namespace {

using Halves = std::vector<unsigned short>;

unsigned short half_of(int i) {  // small whole numbers: sums are exact
  static const unsigned short values[] = {0, 0x3c00, 0xbc00, 0x4000, 0xc000, 0x4200, 0};
  return values[(i * 7919 + i / 7) % 7];
}
int number_of(int i) {
  static const int values[] = {0, 1, -1, 2, -2, 3, 0};
  return values[(i * 7919 + i / 7) % 7];
}
Halves halves(int count, int first) {
  Halves out(static_cast<size_t>(count));
  for (int i = 0; i < count; ++i) out[static_cast<size_t>(i)] = half_of(first + i);
  return out;
}
float float_in(unsigned short half) {
  const float value = half & 0x7c00 ? static_cast<float>(1024 + (half & 1023)) / 1024.0f *
                                          std::pow(2.0f, static_cast<float>((half >> 10 & 31) - 15))
                                    : 0.0f;
  return half & 0x8000 ? -value : value;
}

constexpr int kM = 200, kN = 72, kK = 192;

struct Product {
  LaunchResult launch;
  Halves d;
};
Product multiply(const std::string& text, uint64_t seed) {
  const auto module = load_hopper(text);
  DeviceArray<unsigned short> a(halves(kM * kK, 0)), b(halves(kN * kK, 5)), d(Halves(size_t{kM} * kN, 0x7fff));
  DeviceArray<int> window(std::vector<int>(1));
  TensorMap d_map = matrix_of_halves(d.address(), kN, kM, 64);
  take_reports();
  Product out;
  out.launch = launch(*module, "product", {3, 256, 49152 + 32, seed}, kM, kN, kK / 64, window.address(),
                      encoded(matrix_of_halves(a.address(), kK, kM, 64)),
                      encoded(matrix_of_halves(b.address(), kK, kN, 64)), encoded(d_map));
  out.d = d.values();
  return out;
}

TEST(Hopper, persistent_product_with_box_stores) {
  for (const uint64_t seed : {0, 1, 5, 6}) {
    const Product product = multiply(product_text({}), seed);
    EXPECT_EQ(product.launch.error, 0);
    EXPECT_EQ(take_reports(), std::vector<std::string>{});
    for (int m = 0; m < kM; ++m)
      for (int n = 0; n < kN; ++n) {
        int sum = 0;
        for (int k = 0; k < kK; ++k) sum += number_of(m * kK + k) * number_of(5 + n * kK + k);
        ASSERT_EQ(float_in(product.d[static_cast<size_t>(m * kN + n)]), static_cast<float>(sum)) << m << " " << n;
      }
  }
}

struct PlantedBug {
  const char* name;
  std::string text, finding;
};
std::string with(void (*change)(ProductParts&)) {
  ProductParts parts;
  change(parts);
  return product_text(parts);
}
class ProductBugs : public testing::TestWithParam<PlantedBug> {};
INSTANTIATE_TEST_SUITE_P(
    Planted, ProductBugs,
    testing::Values(PlantedBug{"no_wait_before_a_buffer_is_written_again", with([](auto& p) { p.wait_stored = ""; }),
                               ""},
                    PlantedBug{"waits_for_too_few_stores",
                               with([](auto& p) { p.wait_stored = "if (is_leader) gart_store_wait<2>();"; }), ""},
                    PlantedBug{"others_do_not_wait_for_the_leader", with([](auto& p) { p.free = ""; }), ""},
                    PlantedBug{"no_proxy_fence", with([](auto& p) { p.fence = ""; }), "async_copy"},
                    PlantedBug{"leader_does_not_wait_for_others", with([](auto& p) { p.written = ""; }), ""},
                    PlantedBug{"barrier_of_too_many", with([](auto& p) { p.written = "gart_named_barrier(1, 160);"; }),
                               "divergence"},
                    PlantedBug{"others_only_arrive", with([](auto& p) {
                                 p.free = "if (warp == 0) gart_named_barrier(1, 128); else gart_named_arrive(1, 128);";
                               }),
                               ""},
                    PlantedBug{"block_ends_before_its_stores", with([](auto& p) { p.at_end = ""; }), "async_copy"}),
    [](const auto& instance) { return std::string(instance.param.name); });
TEST_P(ProductBugs, are_found_in_every_order) {
  for (const uint64_t seed : {0, 1, 5}) {
    EXPECT_NE(multiply(GetParam().text, seed).launch.error, 0) << seed;
    const std::vector<std::string> reports = take_reports();
    ASSERT_FALSE(reports.empty()) << seed;
    EXPECT_TRUE(reports[0].starts_with(GetParam().finding)) << reports[0];
  }
}
/// The leader only arrives at the barrier: it need not wait, but the others wait for it.
TEST(Hopper, an_arrival_is_enough_for_who_goes_on) {
  ProductParts parts;
  parts.written = "if (warp == 0) gart_named_barrier(1, 128); else gart_named_arrive(1, 128);";
  parts.free = "gart_named_barrier(2, 128);";
  for (const uint64_t seed : {0, 1, 5}) {
    EXPECT_EQ(multiply(product_text(parts), seed).launch.error, 0);
    EXPECT_EQ(take_reports(), std::vector<std::string>{});
  }
}

struct Window {
  int n, h, w, c, o, kernel, stride, pad, dilation;
};
/// The rows are output pixels, in the order of images, rows, columns. Channels are a multiple of 8.
void check_convolution(const Window& v, uint64_t seed) {
  const int span = (v.kernel - 1) * v.dilation + 1;
  const int p = (v.h + 2 * v.pad - span) / v.stride + 1, q = (v.w + 2 * v.pad - span) / v.stride + 1;
  const int rows = v.n * p * q, blocks = (v.c + 63) / 64, depth = v.kernel * v.kernel * blocks * 64;
  ProductParts parts;
  parts.load_left =
      "const int blocks = window[0], tap = k / blocks; const int at[4] = {k % blocks * 64, m0 % window[1] * window[3] "
      "- "
      "window[4], m0 / window[1] % window[2] * window[3] - window[4], m0 / window[1] / window[2]}; "
      "gart_copy_im2col(raw + stage * 16384, a, at, tap % window[5] * window[6], tap / window[5] * window[6], "
      "full(stage));";
  const auto module = load_hopper(product_text(parts));
  Halves weights(static_cast<size_t>(v.o * depth));
  const auto weight = [&](int o, int tap, int c) { return 3 + (o * v.kernel * v.kernel + tap) * v.c + c; };
  for (int o = 0; o < v.o; ++o)
    for (int tap = 0; tap < v.kernel * v.kernel; ++tap)
      for (int c = 0; c < v.c; ++c)
        weights[static_cast<size_t>(o * depth + tap * blocks * 64 + c)] = half_of(weight(o, tap, c));
  DeviceArray<unsigned short> a(halves(v.n * v.h * v.w * v.c, 0)), b(weights),
      d(Halves(static_cast<size_t>(rows * v.o), 0x7fff));
  DeviceArray<int> window({blocks, q, p, v.stride, v.pad, v.kernel, v.dilation});
  TensorMap image = matrix_of_halves(a.address(), 0, 0, 1);
  image.rank = 4;
  image.is_im2col = true;
  image.pixels = 64;
  const uint64_t extents[] = {uint64_t(v.c), uint64_t(v.w), uint64_t(v.h), uint64_t(v.n)};
  uint64_t stride = 2;
  for (unsigned i = 0; i < 4; ++i) {
    image.extents[i] = extents[i];
    image.strides[i] = stride;
    image.box[i] = i == 0 ? 64 : 1;
    stride *= extents[i];
  }
  for (unsigned i = 0; i < 2; ++i) {
    image.steps[1 + i] = static_cast<unsigned>(v.stride);
    image.lower[i] = -v.pad;
    image.upper[i] = v.pad - (v.kernel - 1) * v.dilation;
  }
  take_reports();
  EXPECT_EQ(launch(*module, "product", {2, 256, 49152 + 32, seed}, rows, v.o, depth / 64, window.address(),
                   encoded(image), encoded(matrix_of_halves(b.address(), uint64_t(depth), uint64_t(v.o), 64)),
                   encoded(matrix_of_halves(d.address(), uint64_t(v.o), uint64_t(rows), 64)))
                .error,
            0);
  EXPECT_EQ(take_reports(), std::vector<std::string>{});
  const Halves out = d.values();
  for (int row = 0; row < rows; ++row)
    for (int o = 0; o < v.o; ++o) {
      int sum = 0;
      for (int tap = 0; tap < v.kernel * v.kernel; ++tap) {
        const int x = row % q * v.stride - v.pad + tap % v.kernel * v.dilation;
        const int y = row / q % p * v.stride - v.pad + tap / v.kernel * v.dilation;
        if (x < 0 || x >= v.w || y < 0 || y >= v.h) continue;
        for (int c = 0; c < v.c; ++c)
          sum += number_of(((row / q / p * v.h + y) * v.w + x) * v.c + c) * number_of(weight(o, tap, c));
      }
      ASSERT_EQ(float_in(out[static_cast<size_t>(row * v.o + o)]), static_cast<float>(sum)) << row << " " << o;
    }
}
TEST(Hopper, convolutions_by_im2col) {
  check_convolution({2, 7, 9, 64, 16, 3, 1, 1, 1}, 5);
  check_convolution({3, 8, 5, 24, 8, 3, 2, 1, 1}, 6);    // strides, channels beyond the last
  check_convolution({1, 11, 12, 72, 8, 3, 1, 2, 2}, 0);  // dilation
  check_convolution({2, 6, 7, 128, 8, 1, 2, 0, 1}, 1);   // strided 1x1
  check_convolution({1, 9, 9, 8, 8, 5, 3, 0, 1}, 5);
}

constexpr int kTiles = 2;
LaunchResult run_split(const std::string& text, uint64_t seed, std::vector<float>* out = nullptr) {
  const auto module = load_hopper(text);
  DeviceArray<unsigned short> a(halves(64 * 256, 0)), b(halves(kTiles * 64 * 256, 5));
  DeviceArray<float> d(std::vector<float>(size_t{kTiles} * 64 * 64, -1.0f));
  take_reports();
  const LaunchResult result = launch(*module, "split", {2 * kTiles, 128, 17408 + 64 * 68 * 4, seed}, d.address(), 2,
                                     encoded(matrix_of_halves(a.address(), 256, 64, 64)),
                                     encoded(matrix_of_halves(b.address(), 256, uint64_t{kTiles} * 64, 64)));
  if (out != nullptr) *out = d.values();
  return result;
}
TEST(Hopper, cluster_shares_the_depth) {
  for (const uint64_t seed : {0, 1, 5, 6}) {
    std::vector<float> d;
    EXPECT_EQ(run_split(split_text({}), seed, &d).error, 0);
    EXPECT_EQ(take_reports(), std::vector<std::string>{});
    for (int i = 0; i < kTiles * 64 * 64; ++i) {
      const int m = i / 64 % 64, n = i / 4096 * 64 + i % 64;
      int sum = 0;
      for (int k = 0; k < 256; ++k) sum += number_of(m * 256 + k) * number_of(5 + n * 256 + k);
      ASSERT_EQ(d[static_cast<size_t>(i)], static_cast<float>(sum)) << i;
    }
  }
}
std::string split_with(void (*change)(SplitParts&)) {
  SplitParts parts;
  change(parts);
  return split_text(parts);
}
class SplitBugs : public testing::TestWithParam<PlantedBug> {};
INSTANTIATE_TEST_SUITE_P(
    Planted, SplitBugs,
    testing::Values(PlantedBug{"sums_are_read_before_they_are_there", split_with([](auto& p) { p.summed = ""; }), ""},
                    PlantedBug{"relaxed_barrier_orders_no_memory", split_with([](auto& p) {
                                 p.summed = "gart_cluster_arrive_relaxed(); gart_cluster_wait();";
                               }),
                               "shared_race"},
                    PlantedBug{"arrives_and_does_not_wait",
                               split_with([](auto& p) { p.summed = "gart_cluster_arrive();"; }), ""},
                    PlantedBug{"waits_where_it_has_not_arrived",
                               split_with([](auto& p) { p.summed = "gart_cluster_wait();"; }), "divergence"},
                    PlantedBug{"one_warp_stays_away", split_with([](auto& p) {
                                 p.summed = "if (threadIdx.x >= 32) { gart_cluster_arrive(); gart_cluster_wait(); }";
                               }),
                               ""},
                    PlantedBug{"lanes_run_apart", split_with([](auto& p) {
                                 p.summed = "if (threadIdx.x % 2) { gart_cluster_arrive(); gart_cluster_wait(); }";
                               }),
                               ""},
                    PlantedBug{"block_ends_while_others_read", split_with([](auto& p) { p.at_end = ""; }), ""},
                    PlantedBug{"no_such_block", split_with([](auto& p) { p.other = "2"; }), "out_of_bounds"}),
    [](const auto& instance) { return std::string(instance.param.name); });
TEST_P(SplitBugs, are_found_in_every_order) {
  for (const uint64_t seed : {0, 1, 5}) {
    EXPECT_NE(run_split(GetParam().text, seed).error, 0) << seed;
    const std::vector<std::string> reports = take_reports();
    ASSERT_FALSE(reports.empty()) << seed;
    EXPECT_TRUE(reports[0].starts_with(GetParam().finding)) << reports[0];
  }
}

}  // namespace
}  // namespace gart_sim
