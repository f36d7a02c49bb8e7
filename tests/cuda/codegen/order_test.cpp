// device/gart_order.cuh and gart_scan.cuh on the simulated device: sorting, selection and sums by a block.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <random>

#include "codegen/cuda/assembler/assemble.h"
#include "tests/cuda/sim/test/run_text.h"

namespace gart_sim {
namespace {

std::unique_ptr<LoadedModule> load(const std::string& body) {
  SourceText text{"kernel.cu", "#include \"gart_prelude.cuh\"\n#include \"gart_order.cuh\"\n" + body, {}};
  for (const gcg::cuda::Header& h : gcg::cuda::device_headers()) text.headers.emplace_back(h.name, h.text);
  const Compiled compiled = compile_for_host(text, {80, 0, false});
  std::string error = compiled.log;
  auto module = compiled.module.empty() ? nullptr : LoadedModule::load(compiled.module, error);
  EXPECT_NE(module, nullptr) << error;
  return module;
}

template <class Key>
std::string order_text(int threads, const char* key) {
  return "extern \"C\" __global__ void __launch_bounds__(" + std::to_string(threads) + ") order(const " + key +
         "* keys, int* out, int* spare, long long n, long long count) {\n  __shared__ gart_order_room<" +
         std::to_string(threads) + ", " + key + "> room;\n  const auto key_of = [&](int i) -> " + key +
         " { return keys[i]; };\n  gart_order<" + std::to_string(threads) + ", " + key +
         ">(key_of, (int)n, (int)count, out, spare, room);\n}\n";
}

template <class Key>
void expect_order(const std::vector<Key>& keys, size_t count, int threads, const char* type, uint64_t seed) {
  static std::map<std::string, std::unique_ptr<LoadedModule>> modules;
  const std::string text = order_text<Key>(threads, type);
  auto& module = modules[text];
  if (module == nullptr) module = load(text);
  ASSERT_NE(module, nullptr);
  std::vector<int> want(keys.size());
  std::iota(want.begin(), want.end(), 0);
  std::stable_sort(want.begin(), want.end(),
                   [&](int a, int b) { return keys[static_cast<size_t>(a)] < keys[static_cast<size_t>(b)]; });
  want.resize(count);
  DeviceArray<Key> in(keys);
  DeviceArray<int> out(std::vector<int>(std::max<size_t>(count, 1))),
      spare(std::vector<int>(std::max<size_t>(count, 1)));
  const LaunchResult result =
      launch(*module, "order", {1, static_cast<unsigned>(threads), 0, seed}, in.address(), out.address(),
             spare.address(), static_cast<long long>(keys.size()), static_cast<long long>(count));
  EXPECT_EQ(result.error, 0);
  std::vector<int> got = out.values();
  got.resize(count);
  EXPECT_EQ(got, want) << count << " of " << keys.size();
  EXPECT_EQ(take_reports(), std::vector<std::string>{});
}

template <class Key>
std::vector<Key> keys_up_to(size_t n, Key most) {
  std::mt19937_64 random(n);
  std::vector<Key> keys(n);
  for (Key& k : keys) k = static_cast<Key>(random()) % most;
  return keys;
}

TEST(Order, FindsTheFirstInOrderWithEqualKeysByPlace) {
  for (const uint64_t seed : {0, 7}) {
    for (const uint32_t most : {1u, 3u, 1000u, 0xffffffffu})
      for (const size_t count : {1u, 50u, 777u})
        expect_order(keys_up_to<uint32_t>(3001, most), count, 512, "unsigned int", seed);
    expect_order(keys_up_to<uint32_t>(300, 5000), 299, 512, "unsigned int", seed);
    expect_order(keys_up_to<uint32_t>(1, 5000), 1, 512, "unsigned int", seed);
  }
  expect_order(keys_up_to<uint32_t>(10000, 1u << 31), 30, 1024, "unsigned int", 1);
  expect_order(std::vector<uint32_t>(5000, 0xffffffffu), 20, 1024, "unsigned int", 1);
}

TEST(Order, SortsManyByDigits) {
  expect_order(keys_up_to<uint32_t>(6000, 0xffffffffu), 6000, 512, "unsigned int", 0);
  expect_order(keys_up_to<uint32_t>(6000, 300), 6000, 512, "unsigned int", 1);
  expect_order(keys_up_to<uint32_t>(7000, 0xffffffffu), 2500, 1024, "unsigned int", 7);
  expect_order(std::vector<uint32_t>(3000, 17), 3000, 512, "unsigned int", 0);
}

TEST(Order, TakesKeysOf64Bits) {
  expect_order(keys_up_to<uint64_t>(3000, ~uint64_t{0}), 100, 512, "unsigned long long", 0);
  expect_order(keys_up_to<uint64_t>(2500, uint64_t{1} << 45), 2500, 512, "unsigned long long", 1);
  expect_order(keys_up_to<uint64_t>(2000, 4), 700, 1024, "unsigned long long", 7);
}

TEST(Scan, GivesEachThreadWhatIsBeforeIt) {
  const auto module = load(R"(extern "C" __global__ void __launch_bounds__(256) scan(int* x, int* totals) {
  __shared__ int slots[8];
  int total;
  const int before = gart_block_scan<256, gart_op_sum>(x[threadIdx.x], 0, slots, total);
  x[threadIdx.x] = before;
  totals[threadIdx.x] = total;
  const int most = gart_block_scan<256, gart_op_max>((int)threadIdx.x, -1, slots, total);
  if (most != (int)threadIdx.x - 1 || total != 255) x[threadIdx.x] = -1000;
})");
  std::vector<int> values(256), want(256);
  for (int i = 0; i < 256; ++i) values[static_cast<size_t>(i)] = i * 37 % 41 - 20;
  std::exclusive_scan(values.begin(), values.end(), want.begin(), 0);
  DeviceArray<int> x(values), totals(std::vector<int>(256));
  EXPECT_EQ(launch(*module, "scan", {1, 256, 0, 3}, x.address(), totals.address()).error, 0);
  EXPECT_EQ(x.values(), want);
  EXPECT_EQ(totals.values(), std::vector<int>(256, std::accumulate(values.begin(), values.end(), 0)));
  EXPECT_EQ(take_reports(), std::vector<std::string>{});
}

}  // namespace
}  // namespace gart_sim
