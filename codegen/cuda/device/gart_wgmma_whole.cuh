// sm_90a: gart_wgmma for two more element types: f32, of which tensor cores read 19 bits (tf32), and signed bytes.
// Lines of both operands run along the depth. All else is as in gart_wgmma.cuh.
#pragma once

#include "gart_wgmma.cuh"

#ifdef __CUDA_ARCH_FEAT_SM90_ALL

/// 8 depths per product. Bits of the fraction after the tenth are ignored. A left operand in registers is as A of
/// m16n8k8.
struct gart_wide_tf32 {
  typedef float Sum;
  enum { kDepth = 8 };
};
/// 32 depths per product. Columns: 8, 16, 24, and from 32 on multiples of 16. A left operand in registers is as A of
/// m16n8k32.
struct gart_wide_s8 {
  typedef int Sum;
  enum { kDepth = 32 };
};

#ifndef GART_SHIM
#define GART_WGMMA_WHOLE(kind, Sum, as, types, scales, columns, n0, n1, n2, n3, n4, n5)                                     \
  template <bool LeftAcross, bool RightAcross>                                                                             \
  struct gart_wgmma<kind, columns, LeftAcross, RightAcross> {                                                              \
    static_assert(!LeftAcross && !RightAcross, "both operands lie along the depth");                                       \
    static void ss(Sum(&d)[n0], unsigned long long a, unsigned long long b, int scale_d) {                                 \
      asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %" #n2 ", 0;\nwgmma.mma_async.sync.aligned.m64n" #columns types       \
                   " {" GART_NAMES_##n0 "}, %" #n0 ", %" #n1 ", p" scales ";\n}\n"                                         \
                   : GART_SUMS_##n0(as)                                                                                    \
                   : "l"(a), "l"(b), "r"(scale_d));                                                                        \
    }                                                                                                                      \
    static void rs(Sum(&d)[n0], unsigned int a0, unsigned int a1, unsigned int a2, unsigned int a3, unsigned long long b,  \
                   int scale_d) {                                                                                          \
      asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %" #n5 ", 0;\nwgmma.mma_async.sync.aligned.m64n" #columns types       \
                   " {" GART_NAMES_##n0 "}, {%" #n0 ",%" #n1 ",%" #n2 ",%" #n3 "}, %" #n4 ", p" scales ";\n}\n"            \
                   : GART_SUMS_##n0(as)                                                                                    \
                   : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "l"(b), "r"(scale_d));                                            \
    }                                                                                                                      \
  };
#define GART_WGMMA_TF32(columns, n0, n1, n2, n3, n4, n5, n6) \
  GART_WGMMA_WHOLE(gart_wide_tf32, float, "+f", "k8.f32.tf32.tf32", ", 1, 1", columns, n0, n1, n2, n3, n4, n5)
#define GART_WGMMA_S8(columns, n0, n1, n2, n3, n4, n5, n6) \
  GART_WGMMA_WHOLE(gart_wide_s8, int, "+r", "k32.s32.s8.s8", "", columns, n0, n1, n2, n3, n4, n5)
GART_WGMMA_SHAPES(GART_WGMMA_TF32)
GART_WGMMA_SHAPES_OF_S8(GART_WGMMA_S8)
#endif

#endif
