// The CPU features that Target.features requires. Bits are never reused. The runtime chooses the supported target whose
// features form the greatest number, because within an architecture, code for more features is preferred.
#pragma once

#include <cstdint>

namespace gart {

enum CpuFeature : uint64_t {
  kCpuX86_64 = uint64_t{1} << 0,      // the architecture itself
  kCpuX86_64v3 = uint64_t{1} << 1,    // AVX, AVX2, BMI1, BMI2, F16C, FMA, LZCNT, MOVBE
  kCpuX86_64v4 = uint64_t{1} << 2,    // AVX-512 F, BW, CD, DQ, VL
  kCpuAvx512Vnni = uint64_t{1} << 3,  // AVX-512 VNNI: products of bytes
  kCpuAvx512Bf16 = uint64_t{1} << 4,  // AVX-512 BF16: products of pairs of bf16
  kCpuAmx = uint64_t{1} << 5,         // AMX tiles of int8 and bf16, if the process may use them
  kCpuAarch64 = uint64_t{1} << 32,    // the architecture, with NEON
  kCpuArmDot = uint64_t{1} << 33,     // dot products of bytes (SDOT, UDOT), and arithmetic in f16
  kCpuArmI8mm = uint64_t{1} << 34,    // dot products of bytes of both signs (USDOT), and bf16
};

/// Values for Target.features.
inline constexpr uint64_t kFeaturesX86_64v3 = kCpuX86_64 | kCpuX86_64v3;
inline constexpr uint64_t kFeaturesX86_64v4 = kFeaturesX86_64v3 | kCpuX86_64v4;
inline constexpr uint64_t kFeaturesX86_64v4Vnni = kFeaturesX86_64v4 | kCpuAvx512Vnni;
inline constexpr uint64_t kFeaturesX86_64v4Bf16 = kFeaturesX86_64v4Vnni | kCpuAvx512Bf16;
inline constexpr uint64_t kFeaturesX86_64v4Amx = kFeaturesX86_64v4Bf16 | kCpuAmx;
inline constexpr uint64_t kFeaturesAarch64 = kCpuAarch64;
inline constexpr uint64_t kFeaturesAarch64Dot = kFeaturesAarch64 | kCpuArmDot;
inline constexpr uint64_t kFeaturesAarch64I8mm = kFeaturesAarch64Dot | kCpuArmI8mm;
inline constexpr uint64_t kKnownCpuFeatures = kFeaturesX86_64v4Amx | kFeaturesAarch64I8mm;

}  // namespace gart
