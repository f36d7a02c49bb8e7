// Measures the peak rates of a core: FMAs alone, FMAs with the loads of a register tile, and plain reads. The benchmark
// alternates them with the code under test, because clock rates drift.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>

namespace gcg::bench {

inline double seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// The time of the fastest of `repeats` runs, in seconds.
template <class Run>
double fastest(int repeats, Run run) {
  double best = 1e30;
  for (int i = 0; i < repeats; ++i) {
    const double start = seconds();
    run();
    best = std::min(best, seconds() - start);
  }
  return best;
}

#if defined(__x86_64__)
// One k step of a 9x3 tile (zmm), or two steps of a 6x2 tile (ymm). The accumulators are registers 0-26, or 0-11; the
// sources never change.
#define GCG_FMA(width, sum, b, a) "vfmadd231ps %%" width #b ",%%" width #a ",%%" width #sum "\n"
#define GCG_TRIPLE(load, a, b, c) load GCG_FMA("zmm", a, 30, 31) GCG_FMA("zmm", b, 30, 31) GCG_FMA("zmm", c, 30, 31)
// clang-format off
#define GCG_NINE(load)                                                                        \
  GCG_TRIPLE(load, 0, 1, 2) GCG_TRIPLE(load, 3, 4, 5) GCG_TRIPLE(load, 6, 7, 8)               \
  GCG_TRIPLE(load, 9, 10, 11) GCG_TRIPLE(load, 12, 13, 14) GCG_TRIPLE(load, 15, 16, 17)       \
  GCG_TRIPLE(load, 18, 19, 20) GCG_TRIPLE(load, 21, 22, 23) GCG_TRIPLE(load, 24, 25, 26)
#define GCG_PAIR(load, a, b) load GCG_FMA("ymm", a, 14, 15) GCG_FMA("ymm", b, 14, 15)
#define GCG_SIX(load)                                                                         \
  GCG_PAIR(load, 0, 1) GCG_PAIR(load, 2, 3) GCG_PAIR(load, 4, 5) GCG_PAIR(load, 6, 7)         \
  GCG_PAIR(load, 8, 9) GCG_PAIR(load, 10, 11)
// clang-format on
#define GCG_LOOP(body) "1:\n" body "dec %0\njnz 1b\n"
#define GCG_ROW512 "vbroadcastss 128(%1),%%zmm29\n"
#define GCG_COLUMNS512 "vmovups 256(%1),%%zmm28\nvmovups 320(%1),%%zmm28\nvmovups 384(%1),%%zmm28\n"
#define GCG_ROW256 "vbroadcastss 128(%1),%%ymm13\n"
#define GCG_COLUMNS256 "vmovups 256(%1),%%ymm12\nvmovups 320(%1),%%ymm12\n"

/// GFLOP/s of one core: f32 FMAs only, or FMAs with the loads of the matrix product's register tile from L1.
inline double fma_peak(bool avx512, bool with_loads) {
  alignas(64) static float memory[128] = {};
  constexpr int64_t steps = 200000;
  const double time = fastest(8, [&] {
    int64_t n = steps;
    if (avx512 && with_loads)
      asm volatile(GCG_LOOP(GCG_COLUMNS512 GCG_NINE(GCG_ROW512)) : "+r"(n) : "r"(memory) : "memory");
    else if (avx512)
      asm volatile(GCG_LOOP(GCG_NINE("")) : "+r"(n) : "r"(memory) : "memory");
    else if (with_loads)
      asm volatile(GCG_LOOP(GCG_COLUMNS256 GCG_SIX(GCG_ROW256)) : "+r"(n) : "r"(memory) : "memory");
    else
      asm volatile(GCG_LOOP(GCG_SIX("")) : "+r"(n) : "r"(memory) : "memory");
  });
  return static_cast<double>(steps) * (avx512 ? 27 * 32 : 12 * 16) / time * 1e-9;
}
#endif

/// GB/s of one core that reads `data`: the rate of the fastest part of 4 MiB. Each part is read once.
inline double read_bandwidth(const void* data, int64_t bytes) {
  using Lanes [[gnu::vector_size(64)]] = uint64_t;         // sums may wrap around
  constexpr int64_t stretch = (4 << 20) / 64, ahead = 64;  // cache lines
  const auto* lines = static_cast<const Lanes*>(data);
  Lanes sums[4] = {};
  double best = 1e30;
  for (int64_t first = 0; first + stretch <= bytes / 64; first += stretch) {
    const double start = seconds();
    for (int64_t i = first; i < first + stretch; i += 4) {
      for (int64_t j = 0; j < 4; ++j) {
        __builtin_prefetch(&lines[i + j + ahead], 0, 2);
        sums[j] += lines[i + j];
      }
    }
    best = std::min(best, seconds() - start);
  }
  asm volatile("" : : "r"(sums) : "memory");
  return static_cast<double>(stretch) * 64 / best * 1e-9;
}

}  // namespace gcg::bench
