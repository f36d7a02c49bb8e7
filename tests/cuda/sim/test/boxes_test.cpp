// Copies of boxes (TMA): values, bytes outside the tensor, swizzling, and planted bugs that the simulation must find.
#include "tests/cuda/sim/engine/tensor_map.h"
#include "tests/cuda/sim/test/run_text.h"

namespace gart_sim {
namespace {

struct alignas(64) Map {
  unsigned char bytes[TensorMap::kBytes];
};

/// The parts of a kernel that planted bugs change. Its second warp copies boxes of 8 lines of 64 elements through a
/// ring of two tiles. Its first warp writes the tiles out.
struct Parts {
  std::string fence = "gart_fence_proxy_async();";
  std::string expect = "gart_mbarrier_expect(full(s % 2), 1024);";
  std::string empty = "gart_mbarrier_try_wait(empty(s % 2), s / 2 % 2 ^ 1);";
  std::string full = "gart_mbarrier_try_wait(full(s % 2), s / 2 % 2);";
  std::string made = "__syncthreads();";
  int offset = 0;  // offset of the tiles in shared memory
};

std::string text(const Parts& p) {
  return R"(struct alignas(64) Map { unsigned char bytes[128]; };
extern "C" __global__ void __launch_bounds__(64) k(unsigned short* out, int steps, const __grid_constant__ Map map) {
  GART_SHARED(raw);
  const auto full = [&](int i) { return reinterpret_cast<unsigned long long*>(raw + 4096) + i; };
  const auto empty = [&](int i) { return reinterpret_cast<unsigned long long*>(raw + 4096) + 2 + i; };
  if (threadIdx.x == 0) {
    for (int i = 0; i < 2; ++i) gart_mbarrier_init(full(i), 1), gart_mbarrier_init(empty(i), 1);
    )" + p.fence +
         R"(
  }
  )" + p.made +
         R"(
  if (threadIdx.x == 32) {
    for (int s = 0; s < steps; ++s) {
      )" +
         p.empty + p.expect + R"(
      const int at[2] = {-4, 8 * s - 1};
      gart_copy_box(raw + s % 2 * 1024 + )" +
         std::to_string(p.offset) + R"(, map, at, full(s % 2));
    }
  }
  if (threadIdx.x >= 32) return;
  for (int s = 0; s < steps; ++s) {
    )" + p.full +
         R"(
    const unsigned short* tile = reinterpret_cast<unsigned short*>(raw + s % 2 * 1024);
    for (int i = threadIdx.x; i < 512; i += 32) {
      const int line = i / 64, chunk = i % 64 / 8 ^ line;
      out[s * 512 + i] = tile[line * 64 + chunk * 8 + i % 8];
    }
    __syncwarp();
    if (threadIdx.x == 0) gart_mbarrier_arrive(empty(s % 2));
  }
})";
}

constexpr int kLines = 30, kColumns = 56, kStride = 64, kSteps = 4;

struct Result {
  LaunchResult launch;
  std::vector<unsigned short> out;
};

Result run(const std::string& text, uint64_t seed, const TensorMap* given = nullptr) {
  const Compiled compiled = compile_for_host({"test.cu", text, {}}, {90, 'a', false});
  std::string error = compiled.log;
  const auto module = compiled.module.empty() ? nullptr : LoadedModule::load(compiled.module, error);
  EXPECT_NE(module, nullptr) << error;
  std::vector<unsigned short> values(kLines * kStride);
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<unsigned short>(i + 1);
  DeviceArray<unsigned short> in(values), out(std::vector<unsigned short>(512 * kSteps));
  TensorMap tensor{in.address(), 2, 2, 128, {kColumns, kLines}, {2, 2 * kStride}, {64, 8}};
  if (given != nullptr) tensor = *given;
  EXPECT_EQ(tensor.problem(), "");
  Map map;
  tensor.encode(map.bytes);
  take_reports();
  Result result;
  result.launch = launch(*module, "k", {1, 64, 4096 + 32, seed}, out.address(), kSteps, map);
  result.out = out.values();
  return result;
}

TEST(Boxes, arrive_swizzled_with_zeros_outside) {
  for (const uint64_t seed : {0, 1, 5, 6}) {
    const Result result = run(text({}), seed);
    EXPECT_EQ(result.launch.error, 0);
    EXPECT_EQ(take_reports(), std::vector<std::string>{});
    for (int s = 0; s < kSteps; ++s)
      for (int i = 0; i < 512; ++i) {
        const int line = 8 * s - 1 + i / 64, column = i % 64 - 4;
        const bool exists = line >= 0 && line < kLines && column >= 0 && column < kColumns;
        ASSERT_EQ(result.out[static_cast<size_t>(s * 512 + i)], exists ? line * kStride + column + 1 : 0)
            << s << " " << i;
      }
  }
}

TEST(Boxes, may_leave_out_lines) {
  DeviceArray<unsigned short> in([] {
    std::vector<unsigned short> values(kLines * kStride);
    for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<unsigned short>(i + 1);
    return values;
  }());
  TensorMap every_third{in.address(), 2, 2, 128, {kColumns, kLines}, {2, 2 * kStride}, {64, 22}};
  every_third.steps[1] = 3;
  const Result result = run(text({}), 5, &every_third);
  EXPECT_EQ(result.launch.error, 0);
  EXPECT_EQ(take_reports(), std::vector<std::string>{});
  for (int i = 0; i < 512 * kSteps; ++i) {
    const int line = 8 * (i / 512) - 1 + i % 512 / 64 * 3, column = i % 64 - 4;
    const bool exists = line >= 0 && line < kLines && column >= 0 && column < kColumns;
    ASSERT_EQ(result.out[static_cast<size_t>(i)], exists ? line * kStride + column + 1 : 0) << i;
  }
}

TEST(Boxes, read_bytes_are_seen) {
  const Result result = run(text({}), 0);
  size_t bytes = 0;
  for (const Range& r : result.launch.footprint.reads) bytes += r.end - r.begin;
  EXPECT_EQ(bytes, size_t{2 * kLines * kColumns});
}

struct PlantedBug {
  const char* name;
  Parts parts;
  std::string finding;
};
class BoxBugs : public testing::TestWithParam<PlantedBug> {};
INSTANTIATE_TEST_SUITE_P(
    Planted, BoxBugs,
    testing::Values(
        PlantedBug{"missing_expect_tx", {.expect = "gart_mbarrier_arrive(full(s % 2));"}, "async_copy"},
        PlantedBug{"too_few_bytes_expected", {.expect = "gart_mbarrier_expect(full(s % 2), 1008);"}, "async_copy"},
        PlantedBug{"too_many_bytes_expected", {.expect = "gart_mbarrier_expect(full(s % 2), 1040);"}, "divergence"},
        PlantedBug{"missing_empty_wait", {.empty = ""}, ""},
        PlantedBug{"wrong_empty_parity", {.empty = "gart_mbarrier_try_wait(empty(s % 2), s / 2 % 2);"}, "divergence"},
        PlantedBug{"missing_full_wait", {.full = ""}, ""},
        PlantedBug{"wrong_full_parity", {.full = "gart_mbarrier_try_wait(full(s % 2), s / 2 % 2 ^ 1);"}, ""},
        PlantedBug{"missing_proxy_fence", {.fence = ""}, "async_copy"},
        PlantedBug{"barriers_not_shown_to_others", {.made = ""}, ""},
        PlantedBug{"tile_not_1024_aligned", {.offset = 128}, "misaligned"}),
    [](const auto& instance) { return std::string(instance.param.name); });

TEST_P(BoxBugs, are_found_in_every_order) {
  for (const uint64_t seed : {0, 1, 5}) {
    EXPECT_NE(run(text(GetParam().parts), seed).launch.error, 0);
    const std::vector<std::string> reports = take_reports();
    ASSERT_FALSE(reports.empty());
    EXPECT_TRUE(reports[0].starts_with(GetParam().finding)) << reports[0];
  }
}

TEST(BoxBugs, map_of_memory_that_is_gone) {
  DeviceArray<unsigned short>* gone = new DeviceArray<unsigned short>(std::vector<unsigned short>(kLines * kStride));
  const TensorMap stale{gone->address(), 2, 2, 128, {kColumns, kLines}, {2, 2 * kStride}, {64, 8}};
  delete gone;
  EXPECT_EQ(run(text({}), 0, &stale).launch.error, 700);
  EXPECT_TRUE(the_report().starts_with("out_of_bounds"));
}

TEST(BoxBugs, bytes_that_are_no_map) {
  const auto module = compile_for_host({"test.cu", text({}), {}}, {90, 'a', false});
  std::string error;
  const auto loaded = LoadedModule::load(module.module, error);
  ASSERT_NE(loaded, nullptr) << error;
  DeviceArray<unsigned short> out(std::vector<unsigned short>(512 * kSteps));
  EXPECT_EQ(launch(*loaded, "k", {1, 64, 4096 + 32, 0}, out.address(), kSteps, Map{}).error, 719);
  EXPECT_TRUE(the_report().starts_with("async_copy"));
}

/// Two warpgroups begin with 168 registers per thread. One warpgroup gives registers, and the other takes them.
LaunchResult run_registers(const std::string& first, const std::string& second) {
  const std::string text =
      "extern \"C\" __global__ void __launch_bounds__(256, 1) k(float* out) {\n  if (threadIdx.x < 128) " + first +
      ";\n  else " + second + ";\n  out[threadIdx.x] = 0;\n}";
  const Compiled compiled = compile_for_host({"test.cu", text, {}}, {90, 'a', false});
  std::string error = compiled.log;
  const auto module = compiled.module.empty() ? nullptr : LoadedModule::load(compiled.module, error);
  EXPECT_NE(module, nullptr) << error;
  DeviceArray<float> out(std::vector<float>(256));
  take_reports();
  return launch(*module, "k", {1, 256, 0, 0}, out.address());
}

TEST(Registers, are_taken_where_others_give_them) {
  EXPECT_EQ(run_registers("gart_give_registers<40>()", "gart_take_registers<256>()").error, 0);
  EXPECT_EQ(take_reports(), std::vector<std::string>{});
  EXPECT_EQ(run_registers("gart_give_registers<44>()", "gart_take_registers<232>()").error, 719);
  EXPECT_TRUE(the_report().starts_with("registers"));
  EXPECT_EQ(run_registers("gart_take_registers<200>()", "gart_give_registers<208>(), gart_take_registers<200>()").error,
            719);
  EXPECT_TRUE(the_report().starts_with("registers"));
  EXPECT_EQ(run_registers("if (threadIdx.x < 32) gart_give_registers<40>()", "gart_take_registers<240>()").error, 719);
  EXPECT_TRUE(the_report().starts_with("registers"));
}

TEST(TensorMaps, of_tensors_that_the_driver_refuses) {
  const TensorMap good{4096, 3, 2, 128, {100, 70, 3}, {2, 256, 256 * 70}, {64, 64, 1}};
  EXPECT_EQ(good.problem(), "");
  const auto with = [&](auto change) {
    TensorMap map = good;
    change(map);
    return map.problem();
  };
  EXPECT_NE(with([](TensorMap& m) { m.address += 8; }), "");
  EXPECT_NE(with([](TensorMap& m) { m.extents[1] = 0; }), "");
  EXPECT_NE(with([](TensorMap& m) { m.extents[1] = (uint64_t{1} << 32) + 1; }), "");
  EXPECT_NE(with([](TensorMap& m) { m.box[1] = 257; }), "");
  EXPECT_NE(with([](TensorMap& m) { m.box[0] = 4; }), "");
  EXPECT_NE(with([](TensorMap& m) { m.box[0] = 72; }), "");
  EXPECT_NE(with([](TensorMap& m) { m.strides[1] = 200; }), "");
  EXPECT_NE(with([](TensorMap& m) { m.strides[2] = uint64_t{1} << 40; }), "");
  EXPECT_NE(with([](TensorMap& m) { m.strides[2] = 272; }), "");
  TensorMap read;
  Map map;
  good.encode(map.bytes);
  ASSERT_TRUE(read.decode(map.bytes));
  EXPECT_EQ(read.extents[2], 3u);
  EXPECT_EQ(read.strides[2], good.strides[2]);
  ++map.bytes[50];
  EXPECT_FALSE(read.decode(map.bytes));
}

TEST(TensorMaps, of_images_that_the_driver_refuses) {
  TensorMap good{4096, 4, 2, 128, {64, 14, 14, 8}, {2, 128, 128 * 14, 128 * 14 * 14}, {64, 1, 1, 1}};
  good.is_im2col = true;
  good.pixels = 128;
  good.steps[1] = good.steps[2] = 2;
  for (int& corner : good.lower) corner = -1;
  for (int& corner : good.upper) corner = -1;
  EXPECT_EQ(good.problem(), "");
  const auto with = [&](auto change) {
    TensorMap map = good;
    change(map);
    return map.problem();
  };
  EXPECT_NE(with([](TensorMap& m) { m.rank = 2; }), "");
  EXPECT_NE(with([](TensorMap& m) { m.pixels = 0; }), "");
  EXPECT_NE(with([](TensorMap& m) { m.pixels = 1025; }), "");
  EXPECT_NE(with([](TensorMap& m) { m.lower[0] = -129; }), "");
  EXPECT_NE(with([](TensorMap& m) { m.upper[1] = 128; }), "");
  EXPECT_NE(with([](TensorMap& m) { m.upper[0] = -15; }), "") << "no place for the window";
  EXPECT_NE(with([](TensorMap& m) { m.steps[1] = 9; }), "");
  EXPECT_NE(with([](TensorMap& m) { m.steps[2] = 0; }), "");
  EXPECT_NE(with([](TensorMap& m) { m.box[0] = 72; }), "");
  EXPECT_NE(with([](TensorMap& m) { m.strides[1] = 120; }), "");
  TensorMap read;
  Map map;
  good.encode(map.bytes);
  ASSERT_TRUE(read.decode(map.bytes));
  EXPECT_TRUE(read.is_im2col);
  EXPECT_EQ(read.pixels, 128u);
  EXPECT_EQ(read.lower[1], -1);
  EXPECT_EQ(read.steps[2], 2u);
}

}  // namespace
}  // namespace gart_sim
