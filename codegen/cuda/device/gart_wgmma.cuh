// sm_90a: the threads of a warpgroup (four warps) start products of tiles in shared memory on the tensor cores, and
// continue meanwhile. Each function is one PTX instruction. There are 64 x 8n sums, of which each warp holds 16 rows.
// Each 8 columns of a warp are distributed over its lanes as C of m16n8.
//
// Order:
//
// * A product sees data that threads copied to shared memory if the copying threads call gart_fence_proxy_async and a
//   barrier follows.
// * A product sees sums that were accessed otherwise after gart_wgmma_fence.
// * Between a product and the wait for its group, no thread may touch its sums or change its tiles.
// * The same holds for a left operand in registers: it is written before the fence, and not again before the wait.
#pragma once

#ifdef __CUDA_ARCH_FEAT_SM90_ALL

#include "gart_wgmma_shapes.cuh"

/// Kinds of elements. 16-bit floats have 16 depths per product.
struct gart_wide_f16 {
  typedef float Sum;
  enum { kDepth = 16 };
};
struct gart_wide_bf16 {
  typedef float Sum;
  enum { kDepth = 16 };
};

#ifndef GART_SHIM
inline void gart_fence_proxy_async() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }
inline void gart_wgmma_fence() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
inline void gart_wgmma_commit() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
/// Waits until at most `Left` groups of products are in flight.
template <int Left>
void gart_wgmma_wait() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(Left) : "memory");
}
/// Keeps the compiler from moving uses of the sums, or definitions of a left operand in registers, across this point.
/// Emits no instruction. ptxas serialises products whose left registers are defined after their fence (C7513).
template <int Count>
void gart_wgmma_hold(float (&sums)[Count]) {
#pragma unroll
  for (int i = 0; i < Count; ++i) asm volatile("" : "+f"(sums[i])::"memory");
}
template <int Count>
void gart_wgmma_hold(int (&sums)[Count]) {
#pragma unroll
  for (int i = 0; i < Count; ++i) asm volatile("" : "+r"(sums[i])::"memory");
}
template <int Count>
void gart_wgmma_hold(unsigned int (&left)[Count]) {
#pragma unroll
  for (int i = 0; i < Count; ++i) asm volatile("" : "+r"(left[i])::"memory");
}
/// Keeps later waits for products behind the computation of `value`, which must not be negative. ptxas moves waits up
/// past arithmetic, but not past this store, which never happens. `scratch`: 4 bytes of shared memory.
inline void gart_known(float value, void* scratch) {
  const unsigned int to = (unsigned int)__cvta_generic_to_shared(scratch);
  asm volatile("{\n.reg .pred p;\nsetp.lt.f32 p, %0, 0f00000000;\n@p st.shared.f32 [%1], %0;\n}" ::"f"(value), "r"(to)
               : "memory");
}

/// The descriptor of a tile whose lines are 128, 64 or 32 bytes, with swizzled 16-byte chunks. Apart from a step's
/// offset, the tile is aligned to 8 lines. `stride_bytes`: distance to the next 8 lines.
inline unsigned long long gart_wgmma_descriptor(const void* tile, int leading_bytes, int stride_bytes, int line_bytes = 128) {
  const unsigned int address = (unsigned int)__cvta_generic_to_shared(tile);
  return (address >> 4 & 0x3fffu) | (unsigned long long)(leading_bytes >> 4) << 16 |
         (unsigned long long)(stride_bytes >> 4) << 32 |
         (unsigned long long)(line_bytes == 128 ? 1 : line_bytes == 64 ? 2 : 3) << 62;
}

/// Sums of 64 x Columns = left * right + (scale_d != 0 ? sums : 0), over the kind's depths. An operand is "across" if
/// its lines do not run along the depth. ss: both operands are descriptors. rs: the left operand is in registers, as A
/// of m16n8k16.
template <class Kind, int Columns, bool LeftAcross, bool RightAcross>
struct gart_wgmma;

#define GART_WGMMA(type, columns, n0, n1, n2, n3, n4, n5, n6)                                                              \
  template <bool LeftAcross, bool RightAcross>                                                                             \
  struct gart_wgmma<gart_wide_##type, columns, LeftAcross, RightAcross> {                                                  \
    static void ss(float(&d)[n0], unsigned long long a, unsigned long long b, int scale_d) {                               \
      asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %" #n2 ", 0;\nwgmma.mma_async.sync.aligned.m64n" #columns             \
                   "k16.f32." #type "." #type " {" GART_NAMES_##n0 "}, %" #n0 ", %" #n1 ", p, 1, 1, %" #n3 ", %" #n4       \
                   ";\n}\n"                                                                                                \
                   : GART_SUMS_##n0("+f")                                                                                  \
                   : "l"(a), "l"(b), "r"(scale_d), "n"(LeftAcross ? 1 : 0), "n"(RightAcross ? 1 : 0));                     \
    }                                                                                                                      \
    static void rs(float(&d)[n0], unsigned int a0, unsigned int a1, unsigned int a2, unsigned int a3, unsigned long long b, \
                   int scale_d) {                                                                                          \
      asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %" #n5 ", 0;\nwgmma.mma_async.sync.aligned.m64n" #columns             \
                   "k16.f32." #type "." #type " {" GART_NAMES_##n0 "}, {%" #n0 ",%" #n1 ",%" #n2 ",%" #n3 "}, %" #n4       \
                   ", p, 1, 1, %" #n6 ";\n}\n"                                                                             \
                   : GART_SUMS_##n0("+f")                                                                                  \
                   : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "l"(b), "r"(scale_d), "n"(RightAcross ? 1 : 0));                  \
    }                                                                                                                      \
  };
#define GART_WGMMA_F16(...) GART_WGMMA(f16, __VA_ARGS__)
#define GART_WGMMA_BF16(...) GART_WGMMA(bf16, __VA_ARGS__)
GART_WGMMA_SHAPES(GART_WGMMA_F16)
GART_WGMMA_SHAPES(GART_WGMMA_BF16)
#endif

#endif
