// Share of the FMA peak that convolution kernels reach on one thread. Data is hot in cache as far as it fits.
//
//   conv_bench [target] [name part]       measures the peak between the kernels, in the same run
#include <immintrin.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <string>
#include <vector>

#include "tests/codegen/conv_harness.h"

namespace gcg::cpu {
namespace {

/// CPU seconds of this thread alone, so that other processes on a busy machine hardly matter.
double now() {
  timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

// Multiply-adds per second, with 24 (or 12) independent sums.
__attribute__((target("avx512f"))) double peak_avx512() {
  constexpr int64_t rounds = 20000;
  __m512 sums[24];
  for (auto& s : sums) s = _mm512_setzero_ps();
  const __m512 a = _mm512_set1_ps(1.0f), b = _mm512_set1_ps(1e-9f);
  const double start = now();
  for (int64_t r = 0; r < rounds; ++r) {
#pragma GCC unroll 24
    for (auto& s : sums) s = _mm512_fmadd_ps(a, b, s);
    asm volatile("");
  }
  const double seconds = now() - start;
  for (int i = 1; i < 24; ++i) sums[0] = _mm512_add_ps(sums[0], sums[i]);
  float out[16];
  _mm512_storeu_ps(out, sums[0]);
  volatile float sink = out[0];
  static_cast<void>(sink);
  return static_cast<double>(rounds * 24 * 16) / seconds;
}

__attribute__((target("avx2,fma"))) double peak_avx2() {
  constexpr int64_t rounds = 40000;
  __m256 sums[12];
  for (auto& s : sums) s = _mm256_setzero_ps();
  const __m256 a = _mm256_set1_ps(1.0f), b = _mm256_set1_ps(1e-9f);
  const double start = now();
  for (int64_t r = 0; r < rounds; ++r) {
#pragma GCC unroll 12
    for (auto& s : sums) s = _mm256_fmadd_ps(a, b, s);
    asm volatile("");
  }
  const double seconds = now() - start;
  for (int i = 1; i < 12; ++i) sums[0] = _mm256_add_ps(sums[0], sums[i]);
  float out[8];
  _mm256_storeu_ps(out, sums[0]);
  volatile float sink = out[0];
  static_cast<void>(sink);
  return static_cast<double>(rounds * 12 * 8) / seconds;
}

struct Layer {
  const char* name;
  ConvCase c;
};

ConvCase with(ConvCase c, bool depthwise, bool plain) {
  c.groups = depthwise ? c.in_channels : 1;
  c.plain = plain;
  c.epilogue = depthwise ? ConvEpilogueKind::relu6 : ConvEpilogueKind::bias_relu;
  return c;
}
ConvCase dense(int64_t ci, int64_t map, int64_t co, int64_t kernel = 1, int64_t stride = 1) {
  return with(conv_case(ci, map, co, kernel, stride, kernel / 2), false, false);
}
ConvCase winograd(int64_t ci, int64_t map, int64_t co, int64_t tile) {
  ConvCase c = dense(ci, map, co, 3);
  c.winograd = tile;
  return c;
}
ConvCase grouped(int64_t ci, int64_t map, int64_t co, int64_t groups, int64_t kernel = 3, int64_t stride = 1) {
  ConvCase c = dense(ci, map, co, kernel, stride);
  c.groups = groups;
  return c;
}
ConvCase volume(int64_t ci, int64_t depth, int64_t map, int64_t co, int64_t groups = 1) {
  ConvCase c = grouped(ci, map, co, groups);
  c.depth = depth, c.kernel_d = 3, c.pad_front = c.pad_back = 1;
  return c;
}
ConvCase depthwise(int64_t channels, int64_t map, int64_t stride) {
  return with(conv_case(channels, map, channels, 3, stride, 1), true, false);
}

std::vector<Layer> layers() {
  return {{"1x1 64-64 56", dense(64, 56, 64)},
          {"1x1 64-256 56", dense(64, 56, 256)},
          {"1x1 256-64 56", dense(256, 56, 64)},
          {"1x1 256-128 56", dense(256, 56, 128)},
          {"1x1 128-512 28", dense(128, 28, 512)},
          {"1x1 512-128 28", dense(512, 28, 128)},
          {"1x1 256-1024 14", dense(256, 14, 1024)},
          {"1x1 1024-256 14", dense(1024, 14, 256)},
          {"1x1 512-2048 7", dense(512, 7, 2048)},
          {"1x1 2048-512 7", dense(2048, 7, 512)},
          {"3x3 64 56", dense(64, 56, 64, 3)},
          {"3x3 128 28", dense(128, 28, 128, 3)},
          {"3x3 256 14", dense(256, 14, 256, 3)},
          {"3x3 512 7", dense(512, 7, 512, 3)},
          {"w4 64 56", winograd(64, 56, 64, 4)},
          {"w2 64 56", winograd(64, 56, 64, 2)},
          {"w4 128 28", winograd(128, 28, 128, 4)},
          {"w4 256 14", winograd(256, 14, 256, 4)},
          {"w2 256 14", winograd(256, 14, 256, 2)},
          {"w2 512 7", winograd(512, 7, 512, 2)},
          {"w4 128-32 28", winograd(128, 28, 32, 4)},
          {"w4 32 112", winograd(32, 112, 32, 4)},
          {"w4 16 64", winograd(16, 64, 16, 4)},
          {"w4 512 28", winograd(512, 28, 512, 4)},
          {"3x3 128-32 28", dense(128, 28, 32, 3)},
          {"3x3 32 112", dense(32, 112, 32, 3)},
          {"3x3 16 64", dense(16, 64, 16, 3)},
          {"3x3 512 28", dense(512, 28, 512, 3)},
          {"3x3s2 128 56", dense(128, 56, 128, 3, 2)},
          {"3x3s2 256 28", dense(256, 28, 256, 3, 2)},
          {"3x3s2 512 14", dense(512, 14, 512, 3, 2)},
          {"1x1s2 256-512 56", dense(256, 56, 512, 1, 2)},
          {"1x1s2 1024-2048 14", dense(1024, 14, 2048, 1, 2)},
          {"stem 7x7s2 224", with(conv_case(3, 224, 64, 7, 2, 3), false, true)},
          {"stem 3x3s2 224", with(conv_case(3, 224, 32, 3, 2, 1), false, true)},
          {"mb 1x1 16-96 112", dense(16, 112, 96)},
          {"mb 1x1 96-24 56", dense(96, 56, 24)},
          {"mb 1x1 24-144 56", dense(24, 56, 144)},
          {"mb 1x1 144-32 28", dense(144, 28, 32)},
          {"mb 1x1 64-384 14", dense(64, 14, 384)},
          {"mb 1x1 960-160 7", dense(960, 7, 160)},
          {"mb 1x1 320-1280 7", dense(320, 7, 1280)},
          {"dw 32 112", depthwise(32, 112, 1)},
          {"dw s2 96 112", depthwise(96, 112, 2)},
          {"dw 144 56", depthwise(144, 56, 1)},
          {"dw s2 144 56", depthwise(144, 56, 2)},
          {"dw 192 28", depthwise(192, 28, 1)},
          {"dw 384 14", depthwise(384, 14, 1)},
          {"dw s2 576 14", depthwise(576, 14, 2)},
          {"dw 960 7", depthwise(960, 7, 1)},
          {"groups 32 of 4 56", grouped(128, 56, 128, 32)},
          {"groups 32 of 8 28", grouped(256, 28, 256, 32)},
          {"groups 32 of 16 14", grouped(512, 14, 512, 32)},
          {"groups 32 of 32 7", grouped(1024, 7, 1024, 32)},
          {"groups of 8 104 28", grouped(104, 28, 104, 13)},
          {"groups of 24 28", grouped(240, 28, 240, 10)},
          {"groups 3, 240-60 1x1 28", grouped(240, 28, 60, 3, 1)},
          {"multiplier 2, 64 56", grouped(64, 56, 128, 64)},
          {"3d 64-64 8x28", volume(64, 8, 28, 64)},
          {"3d dw 64 8x28", volume(64, 8, 28, 64, 64)}};
}

void measure(const Layer& layer, const std::string& target) {
  const CompiledConv conv(layer.c, target);
  const ConvData data(layer.c);
  const double work = static_cast<double>(layer.c.multiply_adds());
  std::vector<double> shares, times;
  conv.run(data);
  const int repeats = std::clamp(static_cast<int>(4e8 / work), 1, 200);
  for (int round = 0; round < 15; ++round) {
    const double peak = target == "x86-64-v4" ? peak_avx512() : peak_avx2();
    const double start = now();
    for (int r = 0; r < repeats; ++r) conv.run(data);
    const double seconds = (now() - start) / repeats;
    times.push_back(seconds);
    shares.push_back(work / seconds / peak);
  }
  std::sort(shares.begin(), shares.end());
  std::sort(times.begin(), times.end());
  std::printf("%-20s %7.3f ms  %5.1f %% of peak (best %5.1f)  tasks %5ld  code %6ld  %s\n", layer.name, times[7] * 1e3,
              shares[7] * 100, shares.back() * 100, static_cast<long>(conv.tasks()),
              static_cast<long>(conv.info().size), conv.info().note.c_str());
  std::fflush(stdout);
}

}  // namespace
}  // namespace gcg::cpu

int main(int argc, char** argv) {
  const std::string target = argc > 1 ? argv[1] : "x86-64-v4";
  if (!gcg::test::runs_here(target)) return std::printf("this machine cannot run %s\n", target.c_str()), 1;
  std::printf("peak %.0f GF/s\n", 2e-9 * (target == "x86-64-v4" ? gcg::cpu::peak_avx512() : gcg::cpu::peak_avx2()));
  for (const gcg::cpu::Layer& layer : gcg::cpu::layers())
    if (argc < 3 || std::strstr(layer.name, argv[2])) gcg::cpu::measure(layer, target);
}
