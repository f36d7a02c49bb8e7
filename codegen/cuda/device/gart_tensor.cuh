// Tensor core products and asynchronous copies. Each function is one PTX instruction. Layouts of fragments, where lane
// l has g = l / 4 and t = l % 4:
//
// * A (16 x k): register r holds row g + 8 * (r % 2), bytes 4t to 4t + 3 of the 16-byte half r / 2 of the row's k-step.
// * B (k x 8): register r holds column g, the same bytes of half r.
// * C (16 x 8): element i is at row g + 8 * (i / 2), column 2t + i % 2.
#pragma once

#include "gart_convert.cuh"

#ifndef GART_SHIM
inline void gart_mma_m16n8k8_f16(float (&c)[4], const unsigned int (&a)[2], const unsigned int (&b)[1]) {
  asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5}, {%6}, {%0,%1,%2,%3};"
               : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
               : "r"(a[0]), "r"(a[1]), "r"(b[0]));
}

// Loads matrices of 8 x 8 elements of 16 bits. Lane l passes the address of row l % 8 of matrix l / 8. From each matrix
// it gets two neighbouring elements of row l / 4, from column 2 * (l % 4) on. Transposed: two neighbouring elements of
// column l / 4, from row 2 * (l % 4) on.
#define GART_LDMATRIX(name, kind)                                                           \
  inline void gart_ldmatrix_x4##name(unsigned int(&r)[4], const void* row) {                \
    const unsigned int from = (unsigned int)__cvta_generic_to_shared(row);                  \
    asm volatile("ldmatrix.sync.aligned.m8n8.x4" kind ".shared.b16 {%0,%1,%2,%3}, [%4];"    \
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])                           \
                 : "r"(from)                                                                \
                 : "memory");                                                               \
  }                                                                                         \
  inline void gart_ldmatrix_x2##name(unsigned int(&r)[2], const void* row) {                \
    const unsigned int from = (unsigned int)__cvta_generic_to_shared(row);                  \
    asm volatile("ldmatrix.sync.aligned.m8n8.x2" kind ".shared.b16 {%0,%1}, [%2];"          \
                 : "=r"(r[0]), "=r"(r[1])                                                   \
                 : "r"(from)                                                                \
                 : "memory");                                                               \
  }
GART_LDMATRIX(, "")
GART_LDMATRIX(_trans, ".trans")
#undef GART_LDMATRIX

#if __CUDA_ARCH__ >= 800
#define GART_MMA(name, shape_and_types)                                                                        \
  inline void name(float(&c)[4], const unsigned int(&a)[4], const unsigned int(&b)[2]) {                       \
    asm volatile("mma.sync.aligned." shape_and_types " {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};" \
                 : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])                                              \
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));                          \
  }
GART_MMA(gart_mma_m16n8k16_f16, "m16n8k16.row.col.f32.f16.f16.f32")
GART_MMA(gart_mma_m16n8k16_bf16, "m16n8k16.row.col.f32.bf16.bf16.f32")
GART_MMA(gart_mma_m16n8k8_tf32, "m16n8k8.row.col.f32.tf32.tf32.f32")
#undef GART_MMA

/// Rounds to 10 bits of fraction; ties away from zero.
inline unsigned int gart_f32_to_tf32(float value) {
  unsigned int bits;
  asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(bits) : "f"(value));
  return bits;
}

/// Copies `source_bytes` bytes to shared memory, and fills the rest of the 16, 8 or 4 bytes with zeros. `shared` is
/// aligned to that size.
inline void gart_cp_async_16(void* shared, const void* global, int source_bytes) {
  const unsigned int to = (unsigned int)__cvta_generic_to_shared(shared);
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(global), "r"(source_bytes) : "memory");
}
inline void gart_cp_async_8(void* shared, const void* global, int source_bytes) {
  const unsigned int to = (unsigned int)__cvta_generic_to_shared(shared);
  asm volatile("cp.async.ca.shared.global [%0], [%1], 8, %2;" ::"r"(to), "l"(global), "r"(source_bytes) : "memory");
}
inline void gart_cp_async_4(void* shared, const void* global, int source_bytes) {
  const unsigned int to = (unsigned int)__cvta_generic_to_shared(shared);
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(to), "l"(global), "r"(source_bytes) : "memory");
}
inline void gart_cp_async_commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }
/// Waits until at most `Left` groups of this thread's copies are in flight.
template <int Left>
void gart_cp_async_wait() {
  asm volatile("cp.async.wait_group %0;" ::"n"(Left) : "memory");
}
#endif

#if __CUDA_ARCH__ >= 800
inline unsigned int gart_pack_f16(float low, float high) {
  unsigned int bits;
  asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(bits) : "f"(high), "f"(low));
  return bits;
}
inline unsigned int gart_pack_bf16(float low, float high) {
  unsigned int bits;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(bits) : "f"(high), "f"(low));
  return bits;
}
#endif
#endif

#if defined(GART_SHIM) || __CUDA_ARCH__ < 800
inline unsigned int gart_pack_f16(float low, float high) {
  return (unsigned int)gart_narrow_f16(low) | (unsigned int)gart_narrow_f16(high) << 16;
}
inline unsigned int gart_pack_bf16(float low, float high) {
  return (unsigned int)gart_narrow_bf16(low) | (unsigned int)gart_narrow_bf16(high) << 16;
}
#endif
