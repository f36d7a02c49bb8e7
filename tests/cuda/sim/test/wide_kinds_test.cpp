// Products of warpgroups for every element type, from shared memory and from registers, with lines of all widths.
#include <cstring>

#include "tests/cuda/sim/test/run_text.h"

namespace gart_sim {
namespace {

constexpr int kRows = 64, kColumns = 32;

/// Copies 32 bytes per row of both operands to swizzled lines, and multiplies once; the sums start at 1.
std::string text(const std::string& kind, const std::string& sum, int line_bytes, bool from_registers, bool adds) {
  const std::string line = std::to_string(line_bytes);
  return "struct gart_wide_f16 {}; struct gart_wide_bf16 {}; struct gart_wide_tf32 {}; struct gart_wide_s8 {};\n"
         "extern \"C\" __global__ void __launch_bounds__(128) k(const unsigned* a, const unsigned* b, " +
         sum + R"(* out) {
  GART_SHARED(raw);
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const auto put = [&](int at, const unsigned* from, int rows) {
    for (int i = threadIdx.x; i < rows * 8; i += 128) {
      unsigned place = at + i / 8 * )" +
         line + " + i % 8 * 4;\n      place ^= (place >> 7 & (" + line + R"( / 16 - 1)) << 4;
      *reinterpret_cast<unsigned*>(raw + place) = from[i];
    }
  };
  put(0, a, 64);
  put(8192, b, 32);
  gart_fence_proxy_async();
  __syncthreads();
  )" + sum +
         R"( sums[16];
  for (int i = 0; i < 16; ++i) sums[i] = 1;
  unsigned left[4];
  for (int r = 0; r < 4; ++r) left[r] = a[(warp * 16 + lane / 4 + r % 2 * 8) * 8 + lane % 4 + r / 2 * 4];
  const unsigned long long tile = gart_wgmma_descriptor(raw, 16, 8 * )" +
         line + ", " + line + "), other = gart_wgmma_descriptor(raw + 8192, 16, 8 * " + line + ", " + line + R"();
  gart_wgmma_hold(left);
  gart_wgmma_fence();
  gart_wgmma<)" +
         kind + ", 32, false, false>::" +
         (from_registers ? "rs(sums, left[0], left[1], left[2], left[3], other, " : "ss(sums, tile, other, ") +
         (adds ? "1" : "0") + R"();
  gart_wgmma_commit();
  gart_wgmma_wait<0>();
  for (int i = 0; i < 16; ++i)
    out[(warp * 16 + lane / 4 + i / 2 % 2 * 8) * 32 + i / 4 * 8 + lane % 4 * 2 + i % 2] = sums[i];
})";
}

struct Kind {
  const char *name, *sum;
  int bytes;
  std::vector<unsigned char> (*element)(int value);
};
template <class T>
std::vector<unsigned char> bytes_of(T value) {
  std::vector<unsigned char> out(sizeof value);
  memcpy(out.data(), &value, sizeof value);
  return out;
}
unsigned bits_of(float x) {
  unsigned bits;
  memcpy(&bits, &x, sizeof bits);
  return bits;
}
const Kind kKinds[] = {
    {"gart_wide_f16", "float", 2,
     [](int v) {  // of numbers -3 to 3
       static const uint16_t halves[] = {0xc200, 0xc000, 0xbc00, 0, 0x3c00, 0x4000, 0x4200};
       return bytes_of(halves[v + 3]);
     }},
    {"gart_wide_bf16", "float", 2,
     [](int v) { return bytes_of(static_cast<uint16_t>(bits_of(static_cast<float>(v)) >> 16)); }},
    // Bits below the 10th of the fraction are not read.
    {"gart_wide_tf32", "float", 4,
     [](int v) { return bytes_of(v == 0 ? 0u : bits_of(static_cast<float>(v)) | 0x1fffu); }},
    {"gart_wide_s8", "int", 1, [](int v) { return bytes_of(static_cast<signed char>(v * 42)); }},
};
int value_at(int i) { return i * 31 % 7 - 3; }

template <class Sum>
void check(const Kind& kind, int line_bytes, bool from_registers, bool adds) {
  const Compiled compiled =
      compile_for_host({"test.cu", text(kind.name, kind.sum, line_bytes, from_registers, adds), {}}, {90, 'a', false});
  std::string error = compiled.log;
  const auto module = compiled.module.empty() ? nullptr : LoadedModule::load(compiled.module, error);
  ASSERT_NE(module, nullptr) << error;
  const int depth = 32 / kind.bytes, scale = kind.bytes == 1 ? 42 * 42 : 1;
  const auto operand = [&](int rows, int first) {
    std::vector<unsigned> out(static_cast<size_t>(rows) * 8);
    for (int i = 0; i < rows * depth; ++i)
      memcpy(reinterpret_cast<char*>(out.data()) + i * kind.bytes, kind.element(value_at(first + i)).data(),
             static_cast<size_t>(kind.bytes));
    return out;
  };
  DeviceArray<unsigned> a(operand(kRows, 0)), b(operand(kColumns, 3));
  DeviceArray<Sum> out(std::vector<Sum>(kRows * kColumns));
  take_reports();
  EXPECT_EQ(launch(*module, "k", {1, 128, 16384, 5}, a.address(), b.address(), out.address()).error, 0);
  EXPECT_EQ(take_reports(), std::vector<std::string>{});
  const std::vector<Sum> sums = out.values();
  for (int i = 0; i < kRows * kColumns; ++i) {
    int want = 0;
    for (int k = 0; k < depth; ++k) want += value_at(i / 32 * depth + k) * value_at(3 + i % 32 * depth + k);
    ASSERT_EQ(sums[static_cast<size_t>(i)], static_cast<Sum>(want * scale + (adds ? 1 : 0)))
        << kind.name << " " << line_bytes << " " << from_registers << " " << i;
  }
}

TEST(WideKinds, multiply_from_shared_memory_and_registers) {
  for (const Kind& kind : kKinds)
    for (const bool from_registers : {false, true})
      for (const int line_bytes : {128, 64, 32}) {
        if (line_bytes < 128 && (kind.bytes != 2 || from_registers)) continue;
        const bool adds = from_registers == (line_bytes == 128);
        if (kind.bytes == 1)
          check<int>(kind, line_bytes, from_registers, adds);
        else
          check<float>(kind, line_bytes, from_registers, adds);
      }
}

}  // namespace
}  // namespace gart_sim
