#include "codegen/cuda/gpu.h"

#include <array>

namespace gcg::cuda {
namespace {

// Rates follow from the vendor's peaks; that of sm_90 is what mma.sync is known to reach of them.
constexpr std::array kGpus = {
    Gpu{75, "T4", 40, 1.59, 64, 512, 320e9, 64 << 10, 64 << 10, 1024},
    Gpu{80, "A100", 108, 1.41, 64, 1024, 1800e9, 164 << 10, 163 << 10, 2048},
    Gpu{86, "RTX 3060", 28, 1.78, 128, 256, 360e9, 100 << 10, 99 << 10, 1536},
    Gpu{87, "AGX Orin", 16, 1.3, 128, 1024, 204e9, 164 << 10, 163 << 10, 1536},
    Gpu{89, "RTX 4090", 128, 2.52, 128, 256, 1008e9, 100 << 10, 99 << 10, 1536},
    Gpu{90, "H200", 132, 1.83, 128, 1228, 4300e9, 228 << 10, 227 << 10, 2048, 2048},
    Gpu{100, "B200", 148, 1.85, 128, 1024, 7000e9, 228 << 10, 227 << 10, 2048},
    Gpu{120, "RTX 5090", 170, 2.41, 128, 256, 1792e9, 100 << 10, 99 << 10, 1536},
};

/// PTX runs on every GPU from sm_80 on, not all of which have that one's shared memory.
constexpr Gpu kOfPtx{80, "any from sm_80 on", 108, 1.41, 64, 1024, 1800e9, 100 << 10, 99 << 10, 1536};

}  // namespace

const Gpu& gpu_of(const Target& target) {
  if (target.is_ptx()) return kOfPtx;
  const Gpu* best = &kGpus.front();
  for (const Gpu& gpu : kGpus)
    if (gpu.sm <= target.sm) best = &gpu;
  return *best;
}

}  // namespace gcg::cuda
