#include "runtime/features.h"

#include <utility>

#include "artifact_schema/cpu_features.h"

#if defined(__x86_64__)
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>
#elif defined(__aarch64__)
#include <sys/auxv.h>
#endif

namespace gart {
namespace {

#if defined(__x86_64__)
constexpr bool all_set(uint32_t value, std::initializer_list<int> bits) {
  for (const int bit : bits) {
    if ((value >> bit & 1) == 0) return false;
  }
  return true;
}

/// The register state that the operating system saves (XCR0).
uint32_t saved_state() {
  uint32_t low = 0, high = 0;
  __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return low;
}

uint64_t detect() {
  uint32_t a = 0, b = 0, c1 = 0, d = 0, b7 = 0, c = 0, a71 = 0, c71 = 0, c_extended = 0, d7 = 0;
  __get_cpuid(1, &a, &b, &c1, &d);
  __get_cpuid_count(7, 0, &a, &b7, &c, &d7);
  if (a > 0) __get_cpuid_count(7, 1, &a71, &b, &c71, &d);  // a is the number of the last subleaf of leaf 7
  __get_cpuid(0x80000001, &a, &b, &c_extended, &d);
  uint64_t features = kCpuX86_64;
  const uint32_t state = all_set(c1, {27}) ? saved_state() : 0;  // OSXSAVE
  const bool v3 = all_set(c1, {12, 22, 28, 29}) &&               // FMA, MOVBE, AVX, F16C
                  all_set(b7, {3, 5, 8}) &&                      // BMI1, AVX2, BMI2
                  all_set(c_extended, {5}) &&                    // LZCNT
                  all_set(state, {1, 2});                        // XMM, YMM
  const bool v4 = v3 && all_set(b7, {16, 17, 28, 30, 31}) &&     // AVX-512 F, DQ, CD, BW, VL
                  all_set(state, {5, 6, 7});                     // masks, ZMM
  if (v3) features |= kCpuX86_64v3;
  if (v4) features |= kCpuX86_64v4;
  if (v4 && all_set(c, {11})) features |= kCpuAvx512Vnni;
  if (v4 && all_set(a71, {5})) features |= kCpuAvx512Bf16;
  if (v4 && all_set(d7, {22, 24, 25}) &&  // AMX: BF16, TILE, INT8
      all_set(state, {17, 18}))
    features |= kCpuAmx;
  return features;
}
#elif defined(__aarch64__)
/// The bits of AT_HWCAP and AT_HWCAP2 are Linux's (asm/hwcap.h); old headers lack some of their names.
uint64_t detect() {
  constexpr unsigned long kHalfScalars = 1UL << 9, kHalfVectors = 1UL << 10, kDot = 1UL << 20;  // AT_HWCAP
  constexpr unsigned long kI8mm = 1UL << 13, kBf16 = 1UL << 14;                                 // AT_HWCAP2
  constexpr unsigned long kFirst = kHalfScalars | kHalfVectors | kDot, kSecond = kI8mm | kBf16;
  uint64_t features = kCpuAarch64;
  if ((getauxval(AT_HWCAP) & kFirst) != kFirst) return features;
  features |= kCpuArmDot;
  if ((getauxval(AT_HWCAP2) & kSecond) == kSecond) features |= kCpuArmI8mm;
  return features;
}
#else
uint64_t detect() { return 0; }
#endif

}  // namespace

bool multiplies_pairs_slowly() {
#if defined(__x86_64__)
  // AVX512-FP16 identifies Intel CPUs since Sapphire Rapids.
  static const bool slow = [] {
    uint32_t a = 0, b = 0, c = 0, d = 0;
    __get_cpuid(0, &a, &b, &c, &d);
    const bool intel = b == signature_INTEL_ebx && c == signature_INTEL_ecx && d == signature_INTEL_edx;
    __get_cpuid_count(7, 0, &a, &b, &c, &d);
    return intel && all_set(d, {23});
  }();
  return slow;
#else
  return false;
#endif
}

bool may_use_tiles() {
#if defined(__x86_64__)
  constexpr long kArchRequestPermission = 0x1023, kTileData = 18;  // ARCH_REQ_XCOMP_PERM, since Linux 5.16; XCR0's bit
  static const bool granted = syscall(SYS_arch_prctl, kArchRequestPermission, kTileData) == 0;
  return granted;
#else
  return false;
#endif
}

uint64_t cpu_features() {
  static const uint64_t features = detect();
  return features;
}

std::string cpu_feature_names(uint64_t features) {
  struct Name {
    uint64_t bit;
    char text[16];  // no pointer, which would need a relocation
  };
  static constexpr Name kNames[] = {
      {kCpuX86_64, "x86-64"},           {kCpuX86_64v3, "x86-64-v3"},      {kCpuX86_64v4, "x86-64-v4"},
      {kCpuAvx512Vnni, "AVX-512 VNNI"}, {kCpuAvx512Bf16, "AVX-512 BF16"}, {kCpuAmx, "AMX"},
      {kCpuAarch64, "aarch64"},         {kCpuArmDot, "DotProd"},          {kCpuArmI8mm, "I8MM"}};
  std::string names;
  for (const Name& name : kNames) {
    if ((features & name.bit) == 0) continue;
    if (!names.empty()) names += ", ";
    names += name.text;
  }
  return names.empty() ? "none" : names;
}

}  // namespace gart
