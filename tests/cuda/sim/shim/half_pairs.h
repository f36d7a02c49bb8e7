// The device headers' functions for single instructions on pairs of f16, and approximations for which only a bound of
// the error is known. Here they return the exact result, rounded.
#ifndef GART_TESTS_CUDA_SIM_SHIM_HALF_PAIRS_H
#define GART_TESTS_CUDA_SIM_SHIM_HALF_PAIRS_H

#include "tensor.h"

static inline unsigned gart_and_or(unsigned a, unsigned b, unsigned c) { return (a & b) | c; }
// Applies f to the elements of a, b, c in both halves. binary32 holds every product and sum of two exactly; for three
// operands, binary64 holds all bits that decide the rounding.
template <class F>
static inline unsigned gart_sim_of_halves(unsigned a, unsigned b, unsigned c, F f) {
  unsigned result = 0;
  for (int shift = 0; shift < 32; shift += 16)
    result |= (unsigned)gart_narrow_f16((float)f((double)gart_widen_f16((unsigned short)(a >> shift)),
                                                 (double)gart_widen_f16((unsigned short)(b >> shift)),
                                                 (double)gart_widen_f16((unsigned short)(c >> shift))))
              << shift;
  return result;
}
static inline unsigned gart_fma_f16x2(unsigned a, unsigned b, unsigned c) {
  return gart_sim_of_halves(a, b, c, [](double x, double y, double z) { return x * y + z; });
}
static inline unsigned gart_sub_f16x2(unsigned a, unsigned b) {
  return gart_sim_of_halves(a, b, 0, [](double x, double y, double) { return x - y; });
}
static inline unsigned gart_mul_f16x2(unsigned a, unsigned b) {
  return gart_sim_of_halves(a, b, 0, [](double x, double y, double) { return x * y; });
}
static inline float gart_exp2_fast(float x) {
  const float r = exp2f(x);
  return r < 0x1p-126f ? 0.0f : r;
}
static inline float gart_reciprocal_fast(float x) { return 1.0f / x; }

template <class T, int Count>
struct gart_vector;  // The prelude's.
template <int Count = 4>
static inline gart_vector<unsigned, Count> gart_load_once(const void* from) {
  return *(const gart_vector<unsigned, Count>*)from;
}
#endif
