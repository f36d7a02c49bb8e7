// Scans: each thread gets the combined values of the block's threads before it.
#pragma once

#include "gart_group.cuh"

// The value of the lane `delta` below this one. Types narrower than int are passed as int.
inline float gart_shuffle_up(float v, int delta) { return __shfl_up_sync(0xffffffffu, v, delta); }
inline double gart_shuffle_up(double v, int delta) { return __shfl_up_sync(0xffffffffu, v, delta); }
inline long long gart_shuffle_up(long long v, int delta) { return __shfl_up_sync(0xffffffffu, v, delta); }
inline unsigned long long gart_shuffle_up(unsigned long long v, int delta) {
  return __shfl_up_sync(0xffffffffu, v, delta);
}
template <class T>
T gart_shuffle_up(T v, int delta) {
  return (T)__shfl_up_sync(0xffffffffu, (int)v, delta);
}

/// Returns `v` combined over all threads before this one (`none` for the first thread). Sets `total` to `v` combined
/// over all threads. The order of operations depends on `Threads` alone. `slots`: shared memory for one element per
/// warp; may be reused at once.
template <int Threads, class Op, class T>
T gart_block_scan(T v, T none, T* slots, T& total) {
  const int lane = (int)threadIdx.x % 32, warp = (int)threadIdx.x / 32;
  T up_to = v;
#pragma unroll
  for (int delta = 1; delta < 32; delta *= 2) {
    const T other = gart_shuffle_up(up_to, delta);
    if (lane >= delta) up_to = Op::of(other, up_to);
  }
  T before = gart_shuffle_up(up_to, 1);
  if (lane == 0) before = none;
  __syncthreads();
  if (lane == 31) slots[warp] = up_to;
  __syncthreads();
  T start = none;
  total = none;
#pragma unroll
  for (int w = 0; w < Threads / 32; ++w) {
    if (w == warp) start = total;
    total = Op::of(total, slots[w]);
  }
  return Op::of(start, before);
}
