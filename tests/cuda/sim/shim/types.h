// CUDA's built-in types and keywords, as NVRTC knows them without a header.
#ifndef GART_TESTS_CUDA_SIM_SHIM_TYPES_H
#define GART_TESTS_CUDA_SIM_SHIM_TYPES_H

#include "module_abi.h"

namespace gart_sim {
extern const Hooks* hooks;
extern State state;
}  // namespace gart_sim

#define __host__
#define __device__
#define __global__ __attribute__((visibility("hidden")))
// One block runs at a time, on one thread of the host. So the thread's variables are the block's shared memory.
#define __shared__ static __thread
#define __constant__ static
#define __grid_constant__
#define __forceinline__ inline __attribute__((always_inline))
#define __noinline__ __attribute__((noinline))
#define __launch_bounds__(...)
#define __maxnreg__(...)
#define __cluster_dims__(...)
#define __align__(n) __attribute__((aligned(n)))
// A keyword that GCC accepts in fewer places than NVRTC does ("__shared__ alignas(16) float x[4]").
#define alignas(n) __attribute__((aligned(n)))
#define __builtin_assume(condition) ((void)0)
#define __assume(condition) ((void)0)

typedef decltype(sizeof 0) size_t;
typedef decltype((char*)0 - (char*)0) ptrdiff_t;
typedef decltype(nullptr) nullptr_t;

#define GART_SIM_VECTORS(T, name, a2, a4)                                   \
  struct name##1 { T x; };                                                  \
  struct __align__(a2) name##2 { T x, y; };                                 \
  struct name##3 { T x, y, z; };                                            \
  struct __align__(a4) name##4 { T x, y, z, w; };                           \
  static inline name##1 make_##name##1(T x) { return {x}; }                 \
  static inline name##2 make_##name##2(T x, T y) { return {x, y}; }         \
  static inline name##3 make_##name##3(T x, T y, T z) { return {x, y, z}; } \
  static inline name##4 make_##name##4(T x, T y, T z, T w) { return {x, y, z, w}; }

GART_SIM_VECTORS(signed char, char, 2, 4)
GART_SIM_VECTORS(unsigned char, uchar, 2, 4)
GART_SIM_VECTORS(short, short, 4, 8)
GART_SIM_VECTORS(unsigned short, ushort, 4, 8)
GART_SIM_VECTORS(int, int, 8, 16)
GART_SIM_VECTORS(unsigned, uint, 8, 16)
GART_SIM_VECTORS(long long, longlong, 16, 16)
GART_SIM_VECTORS(unsigned long long, ulonglong, 16, 16)
GART_SIM_VECTORS(float, float, 8, 16)
GART_SIM_VECTORS(double, double, 16, 16)
#undef GART_SIM_VECTORS

struct dim3 {
  unsigned x, y, z;
  constexpr dim3(unsigned vx = 1, unsigned vy = 1, unsigned vz = 1) : x(vx), y(vy), z(vz) {}
};
#endif
