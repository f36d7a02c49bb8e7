// CUDA's math and bit functions. They are declared here because including <math.h> costs more than most kernels.
#ifndef GART_TESTS_CUDA_SIM_SHIM_FUNCTIONS_H
#define GART_TESTS_CUDA_SIM_SHIM_FUNCTIONS_H

#include "types.h"

// clang-format off: lists of macro calls
#define GART_SIM_UNARY(name)       \
  extern "C" double name(double);  \
  extern "C" float name##f(float); \
  static inline float name(float x) { return name##f(x); }
#define GART_SIM_BINARY(name)             \
  extern "C" double name(double, double); \
  extern "C" float name##f(float, float); \
  static inline float name(float x, float y) { return name##f(x, y); }

// clang-format off
#define GART_SIM_UNARY_FUNCTIONS(F)                                                                     \
  F(acos) F(acosh) F(asin) F(asinh) F(atan) F(atanh) F(cbrt) F(ceil) F(cos) F(cosh) F(erf) F(erfc)      \
  F(exp) F(exp2) F(expm1) F(fabs) F(floor) F(lgamma) F(log) F(log10) F(log1p) F(log2) F(nearbyint)      \
  F(rint) F(round) F(sin) F(sinh) F(sqrt) F(tan) F(tanh) F(tgamma) F(trunc)
// clang-format on
#define GART_SIM_BINARY_FUNCTIONS(F) \
  F(atan2) F(copysign) F(fdim) F(fmax) F(fmin) F(fmod) F(hypot) F(nextafter) F(pow) F(remainder)
GART_SIM_UNARY_FUNCTIONS(GART_SIM_UNARY)
GART_SIM_BINARY_FUNCTIONS(GART_SIM_BINARY)
#undef GART_SIM_UNARY_FUNCTIONS
#undef GART_SIM_BINARY_FUNCTIONS
#undef GART_SIM_UNARY
#undef GART_SIM_BINARY
extern "C" double fma(double, double, double);
extern "C" float fmaf(float, float, float);
static inline float fma(float x, float y, float z) { return fmaf(x, y, z); }
extern "C" double ldexp(double, int);
extern "C" float ldexpf(float, int);
extern "C" double frexp(double, int*);
extern "C" float frexpf(float, int*);
extern "C" double modf(double, double*);
extern "C" float modff(float, float*);
extern "C" double scalbn(double, int);
extern "C" float scalbnf(float, int);
extern "C" int ilogbf(float);
extern "C" long long llrintf(float);
extern "C" long long llrint(double);
extern "C" long lrintf(float);
extern "C" int abs(int);
extern "C" long long llabs(long long);
static inline float abs(float x) { return __builtin_fabsf(x); }
static inline double abs(double x) { return __builtin_fabs(x); }
static inline long abs(long x) { return x < 0 ? -x : x; }
static inline long long abs(long long x) { return x < 0 ? -x : x; }

static inline float rsqrtf(float x) { return 1.0f / __builtin_sqrtf(x); }
static inline double rsqrt(double x) { return 1.0 / __builtin_sqrt(x); }
static inline float rsqrt(float x) { return rsqrtf(x); }
static inline float exp10f(float x) { return powf(10.0f, x); }
static inline double exp10(double x) { return pow(10.0, x); }
static inline float sinpif(float x) { return sinf(3.14159265358979f * x); }
static inline float cospif(float x) { return cosf(3.14159265358979f * x); }
static inline float normcdff(float x) { return 0.5f * erfcf(-0.70710678118654752f * x); }
static inline void sincosf(float x, float* s, float* c) { *s = sinf(x), *c = cosf(x); }

// functions in CUDA, macros in C
static inline bool isnan(float x) { return __builtin_isnan(x); }
static inline bool isnan(double x) { return __builtin_isnan(x); }
static inline bool isinf(float x) { return __builtin_isinf(x); }
static inline bool isinf(double x) { return __builtin_isinf(x); }
static inline bool isfinite(float x) { return __builtin_isfinite(x); }
static inline bool isfinite(double x) { return __builtin_isfinite(x); }
static inline bool signbit(float x) { return __builtin_signbit(x); }
static inline bool signbit(double x) { return __builtin_signbit(x); }

#define GART_SIM_MIN_MAX(T)                                         \
  static inline constexpr T min(T a, T b) { return b < a ? b : a; } \
  static inline constexpr T max(T a, T b) { return a < b ? b : a; }
GART_SIM_MIN_MAX(int)
GART_SIM_MIN_MAX(unsigned)
GART_SIM_MIN_MAX(long)
GART_SIM_MIN_MAX(unsigned long)
GART_SIM_MIN_MAX(long long)
GART_SIM_MIN_MAX(unsigned long long)
#undef GART_SIM_MIN_MAX
static inline float min(float a, float b) { return fminf(a, b); }
static inline float max(float a, float b) { return fmaxf(a, b); }
static inline double min(double a, double b) { return fmin(a, b); }
static inline double max(double a, double b) { return fmax(a, b); }

template <class To, class From>
static inline To gart_sim_bits(From x) {
  static_assert(sizeof(To) == sizeof(From), "bits of types of one size");
  To y;
  __builtin_memcpy(&y, &x, sizeof y);
  return y;
}
static inline int __float_as_int(float x) { return gart_sim_bits<int>(x); }
static inline unsigned __float_as_uint(float x) { return gart_sim_bits<unsigned>(x); }
static inline float __int_as_float(int x) { return gart_sim_bits<float>(x); }
static inline float __uint_as_float(unsigned x) { return gart_sim_bits<float>(x); }
static inline long long __double_as_longlong(double x) { return gart_sim_bits<long long>(x); }
static inline double __longlong_as_double(long long x) { return gart_sim_bits<double>(x); }

static inline float __fmaf_rn(float x, float y, float z) { return fmaf(x, y, z); }
static inline double __fma_rn(double x, double y, double z) { return fma(x, y, z); }
// Not inlined, so that a product and a sum are not contracted to one fma on the host.
__attribute__((noinline)) static float __fmul_rn(float x, float y) { return x * y; }
__attribute__((noinline)) static float __fadd_rn(float x, float y) { return x + y; }
__attribute__((noinline)) static float __fsub_rn(float x, float y) { return x - y; }
__attribute__((noinline)) static double __dmul_rn(double x, double y) { return x * y; }
__attribute__((noinline)) static double __dadd_rn(double x, double y) { return x + y; }
static inline float __fdiv_rn(float x, float y) { return x / y; }
static inline float __fsqrt_rn(float x) { return __builtin_sqrtf(x); }
static inline float __frcp_rn(float x) { return 1.0f / x; }
static inline float __frsqrt_rn(float x) { return rsqrtf(x); }
static inline float __fdividef(float x, float y) { return x / y; }
static inline float __expf(float x) { return expf(x); }
static inline float __exp10f(float x) { return exp10f(x); }
static inline float __logf(float x) { return logf(x); }
static inline float __log2f(float x) { return log2f(x); }
static inline float __log10f(float x) { return log10f(x); }
static inline float __powf(float x, float y) { return powf(x, y); }
static inline float __sinf(float x) { return sinf(x); }
static inline float __cosf(float x) { return cosf(x); }
static inline float __saturatef(float x) { return x > 0.0f ? (x < 1.0f ? x : 1.0f) : 0.0f; }

// CUDA's conversions to integers saturate and convert NaN to 0 (64 bits: to the smallest value); the host's are
// undefined there.
template <class To, class From>
static inline To gart_sim_saturate(From x, From low, From above, To lowest, To highest, To of_nan) {
  if (x != x) return of_nan;
  if (x < low) return lowest;
  return x >= above ? highest : (To)x;
}
static inline int gart_sim_int(double x) {
  return gart_sim_saturate<int>(x, -2147483648.0, 2147483648.0, -2147483647 - 1, 2147483647, 0);
}
static inline unsigned gart_sim_uint(double x) {
  return gart_sim_saturate<unsigned>(x, 0.0, 4294967296.0, 0u, ~0u, 0u);
}
static inline long long gart_sim_longlong(double x) {
  constexpr long long lowest = -9223372036854775807LL - 1;
  return gart_sim_saturate<long long>(x, -9223372036854775808.0, 9223372036854775808.0, lowest, ~lowest, lowest);
}
static inline unsigned long long gart_sim_ulonglong(double x) {
  return gart_sim_saturate<unsigned long long>(x, 0.0, 18446744073709551616.0, 0ull, ~0ull, 1ull << 63);
}
#define GART_SIM_ROUND(suffix, rounded)                                                                     \
  static inline int __float2int_##suffix(float x) { return gart_sim_int(rounded(x)); }                      \
  static inline unsigned __float2uint_##suffix(float x) { return gart_sim_uint(rounded(x)); }               \
  static inline long long __float2ll_##suffix(float x) { return gart_sim_longlong(rounded(x)); }            \
  static inline unsigned long long __float2ull_##suffix(float x) { return gart_sim_ulonglong(rounded(x)); } \
  static inline int __double2int_##suffix(double x) { return gart_sim_int(rounded(x)); }                    \
  static inline unsigned __double2uint_##suffix(double x) { return gart_sim_uint(rounded(x)); }             \
  static inline long long __double2ll_##suffix(double x) { return gart_sim_longlong(rounded(x)); }          \
  static inline unsigned long long __double2ull_##suffix(double x) { return gart_sim_ulonglong(rounded(x)); }
GART_SIM_ROUND(rn, __builtin_rint)
GART_SIM_ROUND(rz, __builtin_trunc)
GART_SIM_ROUND(ru, __builtin_ceil)
GART_SIM_ROUND(rd, __builtin_floor)
#undef GART_SIM_ROUND
static inline float __int2float_rn(int x) { return (float)x; }
static inline float __uint2float_rn(unsigned x) { return (float)x; }
static inline float __ll2float_rn(long long x) { return (float)x; }
static inline float __ull2float_rn(unsigned long long x) { return (float)x; }
static inline float __double2float_rn(double x) { return (float)x; }

static inline int __popc(unsigned x) { return __builtin_popcount(x); }
static inline int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
static inline int __clz(int x) { return x ? __builtin_clz((unsigned)x) : 32; }
static inline int __clzll(long long x) { return x ? __builtin_clzll((unsigned long long)x) : 64; }
static inline int __ffs(int x) { return __builtin_ffs(x); }
static inline int __ffsll(long long x) { return __builtin_ffsll(x); }
static inline unsigned __umulhi(unsigned a, unsigned b) { return (unsigned)(((unsigned long long)a * b) >> 32); }
static inline int __mulhi(int a, int b) { return (int)(((long long)a * b) >> 32); }
static inline unsigned long long __umul64hi(unsigned long long a, unsigned long long b) {
  return (unsigned long long)(((unsigned __int128)a * b) >> 64);
}
static inline unsigned __brev(unsigned x) {
  unsigned y = 0;
  for (int i = 0; i < 32; ++i) y |= ((x >> i) & 1u) << (31 - i);
  return y;
}
static inline unsigned __byte_perm(unsigned a, unsigned b, unsigned selector) {
  const unsigned long long both = (unsigned long long)b << 32 | a;
  unsigned y = 0;
  for (int i = 0; i < 4; ++i) {
    const unsigned s = (selector >> (4 * i)) & 15u;
    unsigned byte = (unsigned)(both >> (8 * (s & 7u))) & 255u;
    if (s & 8u) byte = byte & 128u ? 255u : 0u;
    y |= byte << (8 * i);
  }
  return y;
}
static inline unsigned __funnelshift_l(unsigned low, unsigned high, unsigned n) {
  return (unsigned)(((unsigned long long)high << 32 | low) << (n & 31u) >> 32);
}
static inline unsigned __funnelshift_r(unsigned low, unsigned high, unsigned n) {
  return (unsigned)(((unsigned long long)high << 32 | low) >> (n & 31u));
}
static inline int __dp4a(int a, int b, int c) {
  for (int i = 0; i < 32; i += 8) c += (int)(signed char)(a >> i) * (int)(signed char)(b >> i);
  return c;
}

template <class T>
static inline T __ldg(const T* p) {
  return *p;
}
template <class T>
static inline T __ldca(const T* p) {
  return *p;
}
template <class T>
static inline T __ldcg(const T* p) {
  return *p;
}
template <class T>
static inline T __ldcs(const T* p) {
  return *p;
}
template <class T>
static inline T __ldlu(const T* p) {
  return *p;
}
template <class T>
static inline void __stcg(T* p, T x) {
  *p = x;
}
template <class T>
static inline void __stcs(T* p, T x) {
  *p = x;
}
template <class T>
static inline void __stwt(T* p, T x) {
  *p = x;
}
static inline long long clock64() {
  static long long ticks = 0;
  return ++ticks;
}

// clang-format on
extern "C" int printf(const char*, ...);
#endif
