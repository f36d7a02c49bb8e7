// Calls of the simulated device for the prelude's wrappers of one PTX instruction each: conversions of 16-bit floats,
// tensor core products, matrix loads, asynchronous copies. Names and signatures are the prelude's.
#ifndef GART_TESTS_CUDA_SIM_SHIM_TENSOR_H
#define GART_TESTS_CUDA_SIM_SHIM_TENSOR_H

#include "functions.h"
#include "threads.h"

// binary16 to binary32: exact.
static inline float gart_widen_f16(unsigned short h) {
  const unsigned sign = (unsigned)(h & 0x8000u) << 16, exponent = h >> 10 & 31u, fraction = h & 1023u;
  if (exponent == 31) return __uint_as_float(sign | 0x7f800000u | fraction << 13);
  if (exponent) return __uint_as_float(sign | (exponent + 112) << 23 | fraction << 13);
  const float small = (float)fraction * 0x1p-24f;
  return sign ? -small : small;
}
// binary32 to binary16: to nearest, ties to even; too large becomes infinite.
static inline unsigned short gart_narrow_f16(float x) {
  const unsigned bits = __float_as_uint(x), sign = bits >> 16 & 0x8000u, magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u) return (unsigned short)0x7fffu;
  if (magnitude >= 0x477ff000u) return (unsigned short)(sign | 0x7c00u);
  if (magnitude < 0x38800000u) {  // Subnormal: adding 0.5 rounds at 2^-24.
    return (unsigned short)(sign | (__float_as_uint(__uint_as_float(magnitude) + 0.5f) - 0x3f000000u));
  }
  return (unsigned short)(sign | (magnitude - 0x38000000u + 0xfffu + (magnitude >> 13 & 1u)) >> 13);
}
// cvt.rna.tf32.f32: 10 bits of fraction, ties away from zero.
static inline unsigned gart_f32_to_tf32(float x) {
  const unsigned bits = __float_as_uint(x);
  return x != x ? 0x7fffffffu : (bits + 0x1000u) & 0xffffe000u;
}

static inline void gart_mma_m16n8k8_f16(float (&c)[4], const unsigned (&a)[2], const unsigned (&b)[1], GART_SIM_SITE) {
  gart_sim::hooks->mma(gart_sim::Mma::f16_k8, c, a, b, site);
}
static inline void gart_ldmatrix_x4(unsigned (&r)[4], const void* row, GART_SIM_SITE) {
  gart_sim::hooks->ldmatrix(r, 4, false, row, site);
}
static inline void gart_ldmatrix_x4_trans(unsigned (&r)[4], const void* row, GART_SIM_SITE) {
  gart_sim::hooks->ldmatrix(r, 4, true, row, site);
}
static inline void gart_ldmatrix_x2(unsigned (&r)[2], const void* row, GART_SIM_SITE) {
  gart_sim::hooks->ldmatrix(r, 2, false, row, site);
}
static inline void gart_ldmatrix_x2_trans(unsigned (&r)[2], const void* row, GART_SIM_SITE) {
  gart_sim::hooks->ldmatrix(r, 2, true, row, site);
}

#if __CUDA_ARCH__ >= 800
#define GART_SIM_MMA(name, kind, Element)                                                                \
  static inline void name(Element(&c)[4], const unsigned(&a)[4], const unsigned(&b)[2], GART_SIM_SITE) { \
    gart_sim::hooks->mma(gart_sim::Mma::kind, c, a, b, site);                                            \
  }
GART_SIM_MMA(gart_mma_m16n8k16_f16, f16_k16, float)
GART_SIM_MMA(gart_mma_m16n8k16_bf16, bf16_k16, float)
GART_SIM_MMA(gart_mma_m16n8k8_tf32, tf32_k8, float)
GART_SIM_MMA(gart_mma_m16n8k32_s8, s8_k32, int)
#undef GART_SIM_MMA

// Copies `source_bytes` bytes and fills the rest with zeros. No target byte may be read before the wait.
static inline void gart_cp_async_16(void* shared, const void* global, int source_bytes = 16, GART_SIM_SITE) {
  gart_sim::hooks->copy_async(shared, global, 16, (unsigned)source_bytes, site);
}
static inline void gart_cp_async_8(void* shared, const void* global, int source_bytes = 8, GART_SIM_SITE) {
  gart_sim::hooks->copy_async(shared, global, 8, (unsigned)source_bytes, site);
}
static inline void gart_cp_async_4(void* shared, const void* global, int source_bytes = 4, GART_SIM_SITE) {
  gart_sim::hooks->copy_async(shared, global, 4, (unsigned)source_bytes, site);
}
static inline void gart_cp_async_commit() { gart_sim::hooks->copy_commit(); }
template <int groups_left>
static inline void gart_cp_async_wait(GART_SIM_SITE) {
  gart_sim::hooks->copy_wait(groups_left, site);
}
#endif

#if __CUDA_ARCH__ >= 900
static inline void gart_stmatrix_x4(void* row, const unsigned (&r)[4], GART_SIM_SITE) {
  gart_sim::hooks->stmatrix(row, 4, false, r, site);
}
static inline void gart_stmatrix_x4_trans(void* row, const unsigned (&r)[4], GART_SIM_SITE) {
  gart_sim::hooks->stmatrix(row, 4, true, r, site);
}
static inline void gart_store_matrices(void* row, unsigned r0, unsigned r1, unsigned r2, unsigned r3, GART_SIM_SITE) {
  const unsigned r[4] = {r0, r1, r2, r3};
  gart_sim::hooks->stmatrix(row, 4, false, r, site);
}
static inline void gart_store_matrices_transposed(void* row, unsigned r0, unsigned r1, unsigned r2, unsigned r3,
                                                  GART_SIM_SITE) {
  const unsigned r[4] = {r0, r1, r2, r3};
  gart_sim::hooks->stmatrix(row, 4, true, r, site);
}
// elect.sync: the hardware chooses the lane, and always the same one.
static inline bool gart_elect_one(GART_SIM_SITE) {
  gart_sim::hooks->vote(gart_sim::Vote::bit_or, 0xffffffffu, 0, site);
  return gart_sim::state.thread.x % 32 == 0;
}
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
static inline void gart_fence_proxy_async() { gart_sim::hooks->proxy_fence(); }
static inline void gart_wgmma_fence() { gart_sim::hooks->wgmma_fence(); }
static inline void gart_wgmma_commit() { gart_sim::hooks->wgmma_commit(); }
template <int groups_left>
static inline void gart_wgmma_wait(GART_SIM_SITE) {
  gart_sim::hooks->wgmma_wait(groups_left, site);
}
template <int count>
static inline void gart_wgmma_hold(float (&)[count]) {}
template <int count>
static inline void gart_wgmma_hold(int (&)[count]) {}
template <int count>
static inline void gart_wgmma_hold(unsigned (&)[count]) {}
static inline void gart_known(float, void*) {}
// Addresses of shared memory are relative to the start of the block's dynamic shared memory.
static inline unsigned long long gart_wgmma_descriptor(const void* tile, int leading_bytes, int stride_bytes,
                                                       int line_bytes = 128) {
  const unsigned address = (unsigned)((const unsigned char*)tile - gart_sim::state.shared);
  return (address >> 4 & 0x3fffu) | (unsigned long long)(leading_bytes >> 4) << 16 |
         (unsigned long long)(stride_bytes >> 4) << 32 |
         (unsigned long long)(line_bytes == 128  ? 1
                              : line_bytes == 64 ? 2
                                                 : 3)
             << 62;
}
struct gart_wide_f16;  // The prelude's.
struct gart_wide_bf16;
struct gart_wide_tf32;
struct gart_wide_s8;
namespace gart_sim {
template <class Kind>
struct WideKind;
template <>
struct WideKind<gart_wide_f16> {
  static constexpr Mma kind = Mma::f16_k16;
};
template <>
struct WideKind<gart_wide_bf16> {
  static constexpr Mma kind = Mma::bf16_k16;
};
template <>
struct WideKind<gart_wide_tf32> {
  static constexpr Mma kind = Mma::tf32_k8;
};
template <>
struct WideKind<gart_wide_s8> {
  static constexpr Mma kind = Mma::s8_k32;
};
}  // namespace gart_sim
template <class Kind, int columns, bool left_across, bool right_across>
struct gart_wgmma {
  static constexpr gart_sim::Mma kind = gart_sim::WideKind<Kind>::kind;
  static_assert(columns >= 8 && columns <= 256 && columns % 8 == 0, "columns of a product");
  static_assert(kind != gart_sim::Mma::s8_k32 || columns <= 24 || columns % 16 == 0, "columns of a product of bytes");
  template <class Sum>
  static void ss(Sum (&d)[columns / 2], unsigned long long a, unsigned long long b, int scale_d, GART_SIM_SITE) {
    gart_sim::hooks->wgmma({kind, columns, d, a, b, nullptr, left_across, right_across, scale_d != 0}, site);
  }
  template <class Sum>
  static void rs(Sum (&d)[columns / 2], unsigned a0, unsigned a1, unsigned a2, unsigned a3, unsigned long long b,
                 int scale_d, GART_SIM_SITE) {
    const unsigned left[4] = {a0, a1, a2, a3};
    gart_sim::hooks->wgmma({kind, columns, d, 0, b, left, false, right_across, scale_d != 0}, site);
  }
};
#endif
// Programmatic dependent launch. The next launch may always begin as early as this one.
static inline void gart_griddepcontrol_wait() { gart_sim::hooks->grid_wait(); }
static inline void gart_griddepcontrol_launch_dependents() {}
#endif
#endif
