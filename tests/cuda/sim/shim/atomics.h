// Atomic operations. The code is not atomic, because the threads of the simulation never run at the same time, but the
// simulation watches these accesses as atomic ones.
#ifndef GART_TESTS_CUDA_SIM_SHIM_ATOMICS_H
#define GART_TESTS_CUDA_SIM_SHIM_ATOMICS_H

#include "types.h"

namespace gart_sim {
void touch_atomic(const void* address, Size bytes);

template <class T, class F>
__attribute__((no_sanitize("thread"))) static inline T exchange(T* p, F next) {
  touch_atomic(p, sizeof(T));
  const T old = *p;
  *p = next(old);
  return old;
}
// Excludes a parameter from the deduction of T.
template <class T>
struct Same {
  typedef T type;
};
}  // namespace gart_sim

#define GART_SIM_ATOMIC(name, next)                                        \
  template <class T>                                                       \
  static inline T name(T* p, typename gart_sim::Same<T>::type x) {         \
    return gart_sim::exchange(p, [x](T old) -> T { return next; });        \
  }                                                                        \
  template <class T>                                                       \
  static inline T name##_block(T* p, typename gart_sim::Same<T>::type x) { \
    return name(p, x);                                                     \
  }
GART_SIM_ATOMIC(atomicAdd, (T)(old + x))
GART_SIM_ATOMIC(atomicSub, (T)(old - x))
GART_SIM_ATOMIC(atomicMin, x < old ? x : old)
GART_SIM_ATOMIC(atomicMax, old < x ? x : old)
GART_SIM_ATOMIC(atomicAnd, old& x)
GART_SIM_ATOMIC(atomicOr, old | x)
GART_SIM_ATOMIC(atomicXor, old ^ x)
GART_SIM_ATOMIC(atomicExch, (void(old), x))
GART_SIM_ATOMIC(atomicInc, old >= x ? T(0) : T(old + 1))
GART_SIM_ATOMIC(atomicDec, old == 0 || old > x ? x : T(old - 1))
#undef GART_SIM_ATOMIC

template <class T>
static inline T atomicCAS(T* p, typename gart_sim::Same<T>::type expected, typename gart_sim::Same<T>::type x) {
  return gart_sim::exchange(p, [expected, x](T old) { return old == expected ? x : old; });
}
#endif
