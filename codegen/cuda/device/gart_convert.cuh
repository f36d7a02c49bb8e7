// Conversions between element types. f16 and bf16 are unsigned shorts that hold their bits.
#pragma once

#include "gart_arithmetic.cuh"

#ifndef GART_SHIM
inline float gart_widen_f16(unsigned short bits) {
  float value;
  asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(bits));
  return value;
}
/// Rounds to nearest, ties to even.
inline unsigned short gart_narrow_f16(float value) {
  unsigned short bits;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(value));
  return bits;
}
#endif

inline float gart_widen_bf16(unsigned short bits) { return gart_f32_from_bits((unsigned int)bits << 16); }
/// Rounds to nearest, ties to even; NaNs stay NaNs.
inline unsigned short gart_narrow_bf16(float value) {
  const unsigned int bits = gart_bits_of(value);
  const unsigned int rounded = value != value ? bits | 0x400000u : bits + ((bits >> 16 & 1u) + 0x7fffu);
  return (unsigned short)(rounded >> 16);
}

/// f64 -> f32, rounding to odd. A second rounding, to a 16-bit format, then gives the same result as a single one.
inline float gart_round_to_odd(double value) {
  const float nearest = (float)value;
  if (value != value || (double)nearest == value) return nearest;
  const bool too_large = fabs((double)nearest) > fabs(value);
  return gart_f32_from_bits((gart_bits_of(nearest) - (too_large ? 1u : 0u)) | 1u);
}

/// The largest and the smallest value of an integer type.
template <class T>
constexpr T gart_highest() {
  return gart_is_signed<T>() ? (T)(((1ull << (8 * sizeof(T) - 2)) - 1) * 2 + 1) : (T)-1;
}
template <class T>
constexpr T gart_lowest() {
  return gart_is_signed<T>() ? (T)(-gart_highest<T>() - 1) : (T)0;
}

/// Truncates towards zero and saturates; NaN gives zero. The limits, 2^bits and -2^bits, are exact in both float types.
template <class To, class From>
To gart_saturate(From value) {
  const From end = (From)(1ull << (8 * sizeof(To) - 2)) * (From)(gart_is_signed<To>() ? 2 : 4);
  if (!(value == value)) return 0;
  if (value >= end) return gart_highest<To>();
  if (gart_is_signed<To>() ? value < -end : value <= (From)0) return gart_lowest<To>();
  return (To)value;
}
