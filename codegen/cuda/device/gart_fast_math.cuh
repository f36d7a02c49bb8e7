// Functions by approximate instructions, for results that are rounded to 16 bits. Bounded functions have absolute
// errors below 3e-7. Other functions have relative errors of 1e-5. NaN gives NaN.
#pragma once

#include "gart_arithmetic.cuh"
#include "gart_half_pairs.cuh"

inline float gart_fast_exp(float a) { return gart_exp2_fast(a * 1.44269504f); }
inline float gart_fast_sigmoid(float a) { return gart_reciprocal_fast(1.0f + gart_fast_exp(-a)); }
/// Formula 7.1.26 of Abramowitz and Stegun.
inline float gart_fast_erf(float a) {
  const float z = fabsf(a), t = gart_reciprocal_fast(fmaf(0.3275911f, z, 1.0f));
  float p = fmaf(1.061405429f, t, -1.453152027f);
  p = fmaf(p, t, 1.421413741f);
  p = fmaf(p, t, -0.284496736f);
  p = fmaf(p, t, 0.254829592f);
  const float rest = gart_exp2_fast(a * a * -1.44269504f) * (p * t);
  return copysignf(1.0f - rest, a);
}
/// 1 - 2 / (e^2a + 1). Near zero, where this would lose digits, the series of tanh.
inline float gart_fast_tanh(float a) {
  const float z = fabsf(a);
  const float large = fmaf(-2.0f, gart_reciprocal_fast(1.0f + gart_exp2_fast(z * 2.88539008f)), 1.0f);
  const float s = a * a;
  const float small = fmaf(z * s, fmaf(s, 0.13333333f, -0.33333333f), z);
  return copysignf(z < 0.1f ? small : large, a);
}
