// Pairs of f16 in 32 bits, and other instructions for which C has no operator.
#pragma once

#include "gart_memory.cuh"

#ifndef GART_SHIM
/// (a & b) | c
inline unsigned int gart_and_or(unsigned int a, unsigned int b, unsigned int c) {
  unsigned int r;
  asm("lop3.b32 %0, %1, %2, %3, 0xea;" : "=r"(r) : "r"(a), "r"(b), "r"(c));
  return r;
}
inline unsigned int gart_fma_f16x2(unsigned int a, unsigned int b, unsigned int c) {
  unsigned int r;
  asm("fma.rn.f16x2 %0, %1, %2, %3;" : "=r"(r) : "r"(a), "r"(b), "r"(c));
  return r;
}
inline unsigned int gart_sub_f16x2(unsigned int a, unsigned int b) {
  unsigned int r;
  asm("sub.rn.f16x2 %0, %1, %2;" : "=r"(r) : "r"(a), "r"(b));
  return r;
}
inline unsigned int gart_mul_f16x2(unsigned int a, unsigned int b) {
  unsigned int r;
  asm("mul.rn.f16x2 %0, %1, %2;" : "=r"(r) : "r"(a), "r"(b));
  return r;
}

// Errors are at most 2 units in the last place; denormals count as zeros.
inline float gart_exp2_fast(float x) {
  float r;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(x));
  return r;
}
inline float gart_reciprocal_fast(float x) {
  float r;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(x));
  return r;
}

/// Loads 16 bytes that are read only once. If the call comes before gart_await_last_launch, no launch may write them.
/// The load is volatile, because ptxas moves ld.global.nc below waits.
inline gart_vector<unsigned int, 4> gart_load_once(const void* from) {
  gart_vector<unsigned int, 4> v;
  asm volatile("ld.global.L1::no_allocate.L2::256B.v4.b32 {%0,%1,%2,%3}, [%4];"
               : "=r"(v.at[0]), "=r"(v.at[1]), "=r"(v.at[2]), "=r"(v.at[3])
               : "l"(from));
  return v;
}
#endif
