// Barriers and the exchange of values between the lanes of a warp.
#ifndef GART_TESTS_CUDA_SIM_SHIM_THREADS_H
#define GART_TESTS_CUDA_SIM_SHIM_THREADS_H

#include "types.h"

// The last parameter of these functions: the place in the kernel that calls them.
#define GART_SIM_SITE gart_sim::Site site = {__builtin_FILE(), __builtin_LINE()}

static inline void __syncthreads(GART_SIM_SITE) { gart_sim::hooks->barrier(0, 0, gart_sim::Reduce::none, 0, site); }
static inline int __syncthreads_or(int predicate, GART_SIM_SITE) {
  return gart_sim::hooks->barrier(0, 0, gart_sim::Reduce::any, predicate, site);
}
static inline int __syncthreads_and(int predicate, GART_SIM_SITE) {
  return gart_sim::hooks->barrier(0, 0, gart_sim::Reduce::all, predicate, site);
}
static inline int __syncthreads_count(int predicate, GART_SIM_SITE) {
  return gart_sim::hooks->barrier(0, 0, gart_sim::Reduce::count, predicate, site);
}
// bar.sync id, threads; bar.arrive.
static inline void gart_named_barrier(int id, int threads, GART_SIM_SITE) {
  gart_sim::hooks->barrier((unsigned)id, (unsigned)threads, gart_sim::Reduce::none, 0, site);
}
static inline void gart_named_arrive(int id, int threads, GART_SIM_SITE) {
  gart_sim::hooks->barrier_arrive((unsigned)id, (unsigned)threads, site);
}
static inline void __syncwarp(unsigned mask = 0xffffffffu, GART_SIM_SITE) { gart_sim::hooks->warp_barrier(mask, site); }

template <class T>
static inline T __shfl_sync(unsigned mask, T value, int lane, int width = 32, GART_SIM_SITE) {
  static_assert(sizeof(T) == 4 || sizeof(T) == 8, "shuffles move 4 or 8 bytes");
  gart_sim::hooks->shuffle(gart_sim::Shuffle::index, mask, &value, sizeof value, lane, width, site);
  return value;
}
template <class T>
static inline T __shfl_up_sync(unsigned mask, T value, unsigned delta, int width = 32, GART_SIM_SITE) {
  static_assert(sizeof(T) == 4 || sizeof(T) == 8, "shuffles move 4 or 8 bytes");
  gart_sim::hooks->shuffle(gart_sim::Shuffle::up, mask, &value, sizeof value, (int)delta, width, site);
  return value;
}
template <class T>
static inline T __shfl_down_sync(unsigned mask, T value, unsigned delta, int width = 32, GART_SIM_SITE) {
  static_assert(sizeof(T) == 4 || sizeof(T) == 8, "shuffles move 4 or 8 bytes");
  gart_sim::hooks->shuffle(gart_sim::Shuffle::down, mask, &value, sizeof value, (int)delta, width, site);
  return value;
}
template <class T>
static inline T __shfl_xor_sync(unsigned mask, T value, int lane_mask, int width = 32, GART_SIM_SITE) {
  static_assert(sizeof(T) == 4 || sizeof(T) == 8, "shuffles move 4 or 8 bytes");
  gart_sim::hooks->shuffle(gart_sim::Shuffle::exclusive_or, mask, &value, sizeof value, lane_mask, width, site);
  return value;
}

static inline unsigned __activemask() { return gart_sim::hooks->active_mask(); }
static inline unsigned __ballot_sync(unsigned mask, int predicate, GART_SIM_SITE) {
  return gart_sim::hooks->vote(gart_sim::Vote::ballot, mask, predicate != 0, site);
}
static inline int __any_sync(unsigned mask, int predicate, GART_SIM_SITE) {
  return gart_sim::hooks->vote(gart_sim::Vote::bit_or, mask, predicate != 0, site) != 0;
}
static inline int __all_sync(unsigned mask, int predicate, GART_SIM_SITE) {
  return gart_sim::hooks->vote(gart_sim::Vote::bit_and, mask, predicate != 0, site) != 0;
}
// CUDA's min and max of int compare signed values, so the sign bit is flipped before the comparison and restored after
// it.
#define GART_SIM_REDUCE(name, kind)                                                         \
  static inline unsigned __reduce_##name##_sync(unsigned mask, unsigned x, GART_SIM_SITE) { \
    return gart_sim::hooks->vote(gart_sim::Vote::kind, mask, x, site);                      \
  }
// clang-format off
GART_SIM_REDUCE(add, sum)
GART_SIM_REDUCE(min, minimum)
GART_SIM_REDUCE(max, maximum)
GART_SIM_REDUCE(and, bit_and)
GART_SIM_REDUCE(or, bit_or)
GART_SIM_REDUCE(xor, bit_xor)
// clang-format on
#undef GART_SIM_REDUCE
static inline int __reduce_add_sync(unsigned mask, int x, GART_SIM_SITE) {
  return (int)gart_sim::hooks->vote(gart_sim::Vote::sum, mask, (unsigned)x, site);
}
static inline int __reduce_min_sync(unsigned mask, int x, GART_SIM_SITE) {
  return (int)(gart_sim::hooks->vote(gart_sim::Vote::minimum, mask, (unsigned)x ^ 0x80000000u, site) ^ 0x80000000u);
}
static inline int __reduce_max_sync(unsigned mask, int x, GART_SIM_SITE) {
  return (int)(gart_sim::hooks->vote(gart_sim::Vote::maximum, mask, (unsigned)x ^ 0x80000000u, site) ^ 0x80000000u);
}

// One block runs at a time, and its threads run one after the other, so memory is always in order.
static inline void __threadfence() {}
static inline void __threadfence_block() {}
static inline void __threadfence_system() {}
static inline void __nanosleep(unsigned) {}
static inline void __trap(GART_SIM_SITE) { gart_sim::hooks->trap("__trap()", site); }
#define assert(condition) \
  ((condition) ? (void)0 : gart_sim::hooks->trap("assert(" #condition ")", {__builtin_FILE(), __builtin_LINE()}))
#endif
