// Reductions over a group of threads. The order of operations depends on the group's size alone.
#pragma once

#include "gart_arithmetic.cuh"

struct gart_op_sum {
  template <class T>
  static T of(T a, T b) {
    return gart_add(a, b);
  }
};
struct gart_op_prod {
  template <class T>
  static T of(T a, T b) {
    return gart_mul(a, b);
  }
};
struct gart_op_max {
  template <class T>
  static T of(T a, T b) {
    return gart_max(a, b);
  }
};
struct gart_op_min {
  template <class T>
  static T of(T a, T b) {
    return gart_min(a, b);
  }
};
struct gart_op_and {
  static bool of(bool a, bool b) { return a & b; }
};
struct gart_op_or {
  static bool of(bool a, bool b) { return a | b; }
};

// The value of the lane whose number differs in the bits of `mask`. Types narrower than int must be passed as int.
inline float gart_shuffle_xor(float v, int mask) { return __shfl_xor_sync(0xffffffffu, v, mask); }
inline double gart_shuffle_xor(double v, int mask) { return __shfl_xor_sync(0xffffffffu, v, mask); }
inline long long gart_shuffle_xor(long long v, int mask) { return __shfl_xor_sync(0xffffffffu, v, mask); }
inline unsigned long long gart_shuffle_xor(unsigned long long v, int mask) {
  return __shfl_xor_sync(0xffffffffu, v, mask);
}
template <class T>
T gart_shuffle_xor(T v, int mask) {
  return (T)__shfl_xor_sync(0xffffffffu, (int)v, mask);
}

/// Reduces over `Group` neighbouring lanes (a power of two, at most 32). Every lane gets the result. All lanes of the
/// warp must call it.
template <int Group, class Op, class T>
T gart_warp_reduce(T v) {
#pragma unroll
  for (int mask = Group / 2; mask > 0; mask /= 2) v = Op::of(v, gart_shuffle_xor(v, mask));
  return v;
}

/// Reduces over a block of `Threads` threads (a multiple of 32). Every thread gets the result. `slots`: shared memory
/// for one element per warp, which only this reduction uses.
template <int Threads, class Op, class T>
T gart_block_reduce(T v, T* slots) {
  v = gart_warp_reduce<32, Op>(v);
  if (threadIdx.x % 32 == 0) slots[threadIdx.x / 32] = v;
  __syncthreads();
  T total = slots[0];
#pragma unroll
  for (int warp = 1; warp < Threads / 32; ++warp) total = Op::of(total, slots[warp]);
  return total;
}

/// For each lane number, reduces over the `Group` warps of a block. Every thread gets its lane's result. `slots`:
/// shared memory for one element per thread, which only this reduction uses.
template <int Group, class Op, class T>
T gart_across_reduce(T v, T* slots) {
  slots[threadIdx.x] = v;
  __syncthreads();
  T total = slots[threadIdx.x % 32];
#pragma unroll
  for (int k = 1; k < Group; ++k) total = Op::of(total, slots[k * 32 + threadIdx.x % 32]);
  return total;
}
