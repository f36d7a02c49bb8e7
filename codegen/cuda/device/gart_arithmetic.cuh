// Arithmetic as compiler/kernel/expr.h defines it. Integers wrap. Integer division rounds towards zero, and division by
// zero gives zero.
#pragma once

/// The unsigned type in which arithmetic on T wraps; at least as wide as int.
template <class T>
struct gart_wrapping {
  typedef unsigned int type;
};
template <>
struct gart_wrapping<long long> {
  typedef unsigned long long type;
};
template <>
struct gart_wrapping<unsigned long long> {
  typedef unsigned long long type;
};

template <class T>
constexpr bool gart_is_signed() {
  return (T)-1 < (T)0;
}

inline float gart_f32_from_bits(unsigned int bits) {
  union {
    unsigned int bits;
    float value;
  } u;
  u.bits = bits;
  return u.value;
}
inline unsigned int gart_bits_of(float value) {
  union {
    float value;
    unsigned int bits;
  } u;
  u.value = value;
  return u.bits;
}
inline unsigned int gart_bits(float value) { return gart_bits_of(value); }
inline unsigned long long gart_bits(double value) {
  union {
    double value;
    unsigned long long bits;
  } u;
  u.value = value;
  return u.bits;
}
inline double gart_f64_from_bits(unsigned long long bits) {
  union {
    unsigned long long bits;
    double value;
  } u;
  u.bits = bits;
  return u.value;
}
inline float gart_of_bits(unsigned int bits) { return gart_f32_from_bits(bits); }
inline double gart_of_bits(unsigned long long bits) { return gart_f64_from_bits(bits); }

// ---- Sums, products ----------------------------------------------------------------------------------------------

template <class T>
T gart_add(T a, T b) {
  typedef typename gart_wrapping<T>::type U;
  return (T)((U)a + (U)b);
}
template <class T>
T gart_sub(T a, T b) {
  typedef typename gart_wrapping<T>::type U;
  return (T)((U)a - (U)b);
}
template <class T>
T gart_mul(T a, T b) {
  typedef typename gart_wrapping<T>::type U;
  return (T)((U)a * (U)b);
}
template <class T>
T gart_neg(T a) {
  typedef typename gart_wrapping<T>::type U;
  return (T)((U)0 - (U)a);
}
inline float gart_add(float a, float b) { return a + b; }
inline float gart_mul(float a, float b) { return a * b; }
inline double gart_add(double a, double b) { return a + b; }
inline double gart_mul(double a, double b) { return a * b; }

// ---- Quotients of integers ---------------------------------------------------------------------------------------

template <class T>
T gart_div(T a, T b) {
  if (b == 0) return 0;
  if (gart_is_signed<T>() && b == (T)-1) return gart_neg(a);
  return (T)(a / b);
}
/// The remainder that belongs to gart_div; zero for division by zero.
template <class T>
T gart_fmod(T a, T b) {
  if (b == 0 || (gart_is_signed<T>() && b == (T)-1)) return 0;
  return (T)(a % b);
}
template <class T>
bool gart_signs_differ(T remainder, T b) {
  return remainder != 0 && (remainder < 0) != (b < 0);
}
template <class T>
T gart_floor_div(T a, T b) {
  const T q = gart_div(a, b);
  return gart_signs_differ(gart_fmod(a, b), b) ? gart_sub(q, (T)1) : q;
}
/// The remainder with the sign of the divisor.
template <class T>
T gart_mod(T a, T b) {
  const T r = gart_fmod(a, b);
  return gart_signs_differ(r, b) ? gart_add(r, b) : r;
}

/// Divides bit by bit: returns a / b, and leaves a % b in `a`. A call of the 64-bit division would cost every kernel
/// registers and code, for numbers that hardly any launch has.
inline long long gart_long_division(unsigned long long& a, unsigned long long b) {
  unsigned long long quotient = 0, rest = 0;
#pragma unroll 1
  for (int bit = 63; bit >= 0; --bit) {
    rest = rest << 1 | (a >> bit & 1);
    quotient <<= 1;
    if (rest >= b) {
      rest -= b;
      quotient |= 1;
    }
  }
  a = rest;
  return (long long)quotient;
}
/// a / b and a % b of indices, where a >= 0 and b > 0; in 32 bits if both fit.
inline long long gart_index_div(long long a, long long b) {
  if (((unsigned long long)(a | b) >> 32) == 0) return (long long)((unsigned int)a / (unsigned int)b);
  unsigned long long rest = (unsigned long long)a;
  return gart_long_division(rest, (unsigned long long)b);
}
inline long long gart_index_mod(long long a, long long b) {
  if (((unsigned long long)(a | b) >> 32) == 0) return (long long)((unsigned int)a % (unsigned int)b);
  unsigned long long rest = (unsigned long long)a;
  gart_long_division(rest, (unsigned long long)b);
  return (long long)rest;
}

// ---- Bits ----------------------------------------------------------------------------------------------------------

/// A shift by an amount outside [0, bits) shifts all bits out.
template <class T>
T gart_shift_left(T a, T b) {
  typedef typename gart_wrapping<T>::type U;
  return b < 0 || b >= (T)(8 * sizeof(T)) ? (T)0 : (T)((U)a << (U)b);
}
template <class T>
T gart_shift_right(T a, T b) {
  const bool all = b < 0 || b >= (T)(8 * sizeof(T));
  if (gart_is_signed<T>()) return (T)(a >> (all ? (int)(8 * sizeof(T) - 1) : (int)b));
  return all ? (T)0 : (T)(a >> b);
}

// ---- Order ---------------------------------------------------------------------------------------------------------

template <class T>
T gart_max(T a, T b) {
  return a > b ? a : b;
}
template <class T>
T gart_min(T a, T b) {
  return a < b ? a : b;
}
// NaN if either operand is NaN: a > b is false if b is NaN, and a != a detects a NaN in a.
inline float gart_max(float a, float b) { return a > b || a != a ? a : b; }
inline float gart_min(float a, float b) { return a < b || a != a ? a : b; }
inline double gart_max(double a, double b) { return a > b || a != a ? a : b; }
inline double gart_min(double a, double b) { return a < b || a != a ? a : b; }

template <class T>
T gart_abs(T a) {
  return a < 0 ? gart_neg(a) : a;
}
inline float gart_abs(float a) { return fabsf(a); }
inline double gart_abs(double a) { return fabs(a); }
/// -1, 0 or 1. A float that is -0 or NaN is returned unchanged.
template <class T>
T gart_sign(T a) {
  return a < 0 ? (T)-1 : (T)(a != 0);
}
inline float gart_sign(float a) { return a > 0.0f ? 1.0f : a < 0.0f ? -1.0f : a; }
inline double gart_sign(double a) { return a > 0.0 ? 1.0 : a < 0.0 ? -1.0 : a; }

inline bool gart_is_nan(float a) { return a != a; }
inline bool gart_is_nan(double a) { return a != a; }
inline bool gart_is_inf(float a) { return fabsf(a) == gart_f32_from_bits(0x7f800000u); }
inline bool gart_is_inf(double a) { return fabs(a) == gart_f64_from_bits(0x7ff0000000000000ull); }

// ---- Functions -----------------------------------------------------------------------------------------------------

#define GART_FUNCTION(name, of)                          \
  inline float gart_##name(float a) { return of##f(a); } \
  inline double gart_##name(double a) { return of(a); }
GART_FUNCTION(sqrt, sqrt)
GART_FUNCTION(exp, exp)
GART_FUNCTION(log, log)
GART_FUNCTION(erf, erf)
GART_FUNCTION(tanh, tanh)
GART_FUNCTION(sin, sin)
GART_FUNCTION(cos, cos)
GART_FUNCTION(tan, tan)
GART_FUNCTION(asin, asin)
GART_FUNCTION(acos, acos)
GART_FUNCTION(atan, atan)
GART_FUNCTION(sinh, sinh)
GART_FUNCTION(cosh, cosh)
GART_FUNCTION(asinh, asinh)
GART_FUNCTION(acosh, acosh)
GART_FUNCTION(atanh, atanh)
GART_FUNCTION(floor, floor)
GART_FUNCTION(ceil, ceil)
GART_FUNCTION(round_even, rint)
#undef GART_FUNCTION
inline float gart_rsqrt(float a) { return 1.0f / sqrtf(a); }
inline double gart_rsqrt(double a) { return 1.0 / sqrt(a); }
inline float gart_reciprocal(float a) { return 1.0f / a; }
inline double gart_reciprocal(double a) { return 1.0 / a; }
inline float gart_sigmoid(float a) { return 1.0f / (1.0f + expf(-a)); }
inline double gart_sigmoid(double a) { return 1.0 / (1.0 + exp(-a)); }

inline float gart_fmod(float a, float b) { return fmodf(a, b); }
inline double gart_fmod(double a, double b) { return fmod(a, b); }
inline float gart_mod(float a, float b) {
  const float r = fmodf(a, b);
  return r != 0.0f && (r < 0.0f) != (b < 0.0f) ? r + b : r;
}
inline double gart_mod(double a, double b) {
  const double r = fmod(a, b);
  return r != 0.0 && (r < 0.0) != (b < 0.0) ? r + b : r;
}

inline float gart_pow(float a, float b) { return powf(a, b); }
inline double gart_pow(double a, double b) { return pow(a, b); }
/// a^b by repeated squaring; products wrap. A negative exponent gives the reciprocal, truncated to an integer.
template <class T>
T gart_pow(T a, T b) {
  const bool odd = ((unsigned long long)b & 1) != 0;
  if (b < 0) return a == (T)1 ? (T)1 : a == (T)-1 ? (odd ? (T)-1 : (T)1) : (T)0;
  T power = (T)1, factor = a;
  for (unsigned long long rest = (unsigned long long)b; rest != 0; rest >>= 1) {
    if ((rest & 1) != 0) power = gart_mul(power, factor);
    factor = gart_mul(factor, factor);
  }
  return power;
}
