// Products of f32 on sm_90a as three products of tf32 each, by warpgroups, in the frame of gart_tile_loop.cuh. Tensor cores read
// a number's first 19 bits, so a tile as it was copied is its high part; the rest, what those bits leave of it, is a tf32 number,
// too: 22 bits of each factor count, and rest times rest, 2^-22 of a product, is left out. Tensor cores cut what falls below the
// largest term of a sum (Fasi et al. 2021, PeerJ CS 7:e330): each 32 depths are summed by themselves, and steps added to nearest.
//
// A warpgroup of its own writes the rests of the right operand beside it; those that multiply have the left one in registers and
// make its rests themselves. Infinities and NaN give what they give in a product of f32.
#pragma once

#include "gart_tile_loop.cuh"
#include "gart_wgmma_whole.cuh"

/// 32 depths a step.
struct gart_f32_depths {
  static int of(int step) { return step * 32; }
};

/// A tile of f32 as wgmma reads it: lines of 32 elements, 16-byte chunk c of line l at place c ^ l % 8.
template <int Rows>
struct gart_f32_tile {
  typedef float Element;
  static constexpr int kRows = Rows, kDepth = 32, kBytes = Rows * 128, kNextDepths = 2;
  static constexpr bool kAlongDepth = true;
};

/// A number as two of tf32: `high`, of which tensor cores read the first bits, and the rest, rounded. Returns the rest as it was,
/// NaN of what is not finite: that has no rest.
inline float gart_split_f32(float v, unsigned int& high, unsigned int& rest) {
  high = gart_bits_of(v);
  const float left = v - gart_f32_from_bits(high & 0xffffe000u);
  rest = gart_f32_to_tf32(left);
  return left;
}
/// The same of a number that may be infinite or NaN: those become the rest. An infinity as the high part would make NaN of a
/// product with a rest of zero; the first bits of a NaN may be those of an infinity.
inline void gart_split_any(float v, unsigned int& high, unsigned int& rest) {
  gart_split_f32(v, high, rest);
  const unsigned int size = high & 0x7fffffffu;
  if (size < 0x7f800000u) return;
  rest = size == 0x7f800000u ? high : 0x7fc00000u;
  high = (high & 0x80000000u) | 0x3f800000u;
}

/// As gart_tile_loop, of two multiplying warpgroups, with `Splitting` registers of a thread that makes rests.
template <class A, class B, int Stages, int Few, int Splitting, int Many, int Buffers>
struct gart_f32_loop : gart_tile_loop<gart_wide_tf32, A, B, Stages, 2, Few, Many, Buffers, B::Tile::kBytes> {
  typedef gart_tile_loop<gart_wide_tf32, A, B, Stages, 2, Few, Many, Buffers, B::Tile::kBytes> Loop;
  typedef typename Loop::Sums Sums;
  typedef typename Loop::Left Left;
  typedef typename Loop::Right Right;
  static constexpr int kMultiplying = Loop::kMultiplying, kFeeding = kMultiplying + 128, kColumns = Loop::kColumns;
  using Loop::advance;
  using Loop::full;
  using Loop::parity;
  using Loop::read;
  using Loop::stage;
  using Loop::warp;

  unsigned long long* split(int s) const { return Loop::barrier(2 * Stages + 2 + s); }

  /// All threads of the block.
  explicit gart_f32_loop(unsigned char* shared) : Loop(shared) {
    if (threadIdx.x == 0) {
#pragma unroll
      for (int s = 0; s < Stages; ++s) gart_mbarrier_init(split(s), 4);
      gart_mbarrier_init_fence();
    }
    __syncthreads();
  }

  bool feeds() const {
    if (warp < kFeeding / 32) return false;
    if constexpr (Loop::kShares) gart_give_registers<Few>();
    return true;
  }
  /// Does the thread make rests?
  bool splits() const {
    if (warp < kMultiplying / 32) return false;
    if constexpr (Loop::kShares) gart_give_registers<Splitting>();
    return true;
  }

  /// Makes the rests of a tile's steps.
  void make_rests(int steps) {
    constexpr int kEach = Right::kBytes / (128 * 16);
    const int thread = threadIdx.x - kMultiplying;
#pragma unroll 1
    for (int s = 0; s < steps; ++s) {
      gart_mbarrier_wait(full(stage), parity);
      // Where a number lies does not matter: its rest lies as far after it.
      float* const from = reinterpret_cast<float*>(Loop::right(stage)) + thread * 4;
      gart_vector<float, 4> v[kEach];
#pragma unroll
      for (int i = 0; i < kEach; ++i) v[i] = gart_load<4>(from + i * 512);
      float lefts = 0.0f;
#pragma unroll
      for (int i = 0; i < kEach; ++i) {
        gart_vector<unsigned int, 4> high, rest;
#pragma unroll
        for (int e = 0; e < 4; ++e) lefts += gart_split_f32(v[i].at[e], high.at[e], rest.at[e]);
        gart_store(reinterpret_cast<unsigned int*>(from + Right::kBytes / 4 + i * 512), rest);
      }
      if (lefts != lefts) split_any(from);
      gart_fence_proxy_async();
      __syncwarp();
      if (threadIdx.x % 32 == 0) gart_mbarrier_arrive(split(stage));
      advance();
    }
  }

  /// The products of a tile's steps, one at least.
  void multiply(Sums& sums, int steps) {
    float first[16], second[16];
#pragma unroll
    for (int i = 0; i < kColumns / 2; ++i) sums.sums[i] = 0.0f;
    gart_mbarrier_wait(full(stage), parity);
    load(first, stage);
#pragma unroll 1
    for (int s = 0; s < steps; s += 2) {
      step(sums, first, second, s + 1 == steps);
      if (s + 1 < steps) step(sums, second, first, s + 2 >= steps);
    }
    __syncwarp();
  }

 private:
  /// The rests of a thread's numbers that may be infinite or NaN, with what takes their place.
  static void split_any(float* from) {
#pragma unroll 1
    for (int i = 0; i < Right::kBytes / (128 * 16); ++i, from += 512) {
      const gart_vector<float, 4> v = gart_load<4>(from);
      gart_vector<unsigned int, 4> high, rest;
#pragma unroll
      for (int e = 0; e < 4; ++e) gart_split_any(v.at[e], high.at[e], rest.at[e]);
      gart_store(reinterpret_cast<unsigned int*>(from), high);
      gart_store(reinterpret_cast<unsigned int*>(from + Right::kBytes / 4), rest);
    }
  }

  /// A lane's part of 16 rows and 32 depths: of each 8 depths, A of m16n8k8.
  void load(float (&a)[16], int s) const {
    const int g = threadIdx.x % 32 / 4, t = threadIdx.x % 4;
    const float* const lines = reinterpret_cast<const float*>(Loop::left(s)) + (warp * 16 + g) * 32 + t;
#pragma unroll
    for (int i = 0; i < 16; ++i) a[i] = lines[i % 2 * 256 + ((i / 4 * 2 + i / 2 % 2) ^ g) * 4];
  }

  /// Multiplies what `now` has and loads what comes after it to `next`: registers that products read are not written before those
  /// are done.
  void step(Sums& sums, const float (&now)[16], float (&next)[16], bool is_last) {
    typedef gart_wgmma<gart_wide_tf32, kColumns, false, false> Products;
    unsigned int high[16], rest[16];
    float part[kColumns / 2];
float lefts = 0.0f;
#pragma unroll
    for (int i = 0; i < 16; ++i) lefts += gart_split_f32(now[i], high[i], rest[i]);
    if (lefts != lefts) {
#pragma unroll
      for (int i = 0; i < 16; ++i) gart_split_any(now[i], high[i], rest[i]);
    }
    gart_mbarrier_wait(split(stage), parity);
    const unsigned long long b = gart_wgmma_descriptor(Loop::right(0), 16, 1024) + stage * (Loop::kStage / 16);
    gart_wgmma_hold(high);
    gart_wgmma_hold(rest);
    gart_wgmma_fence();
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const unsigned long long right = b + 2 * i, right_rest = right + Right::kBytes / 16;
      Products::rs(part, rest[4 * i], rest[4 * i + 1], rest[4 * i + 2], rest[4 * i + 3], right, i > 0 ? 1 : 0);
      Products::rs(part, high[4 * i], high[4 * i + 1], high[4 * i + 2], high[4 * i + 3], right_rest, 1);
      Products::rs(part, high[4 * i], high[4 * i + 1], high[4 * i + 2], high[4 * i + 3], right, 1);
    }
    gart_wgmma_commit();
    const int before = stage;
    advance();
    if (!is_last) {
      gart_mbarrier_wait(full(stage), parity);
      load(next, stage);
    }
    gart_wgmma_wait<0>();
    gart_wgmma_hold(part);
    if (threadIdx.x % 32 == 0) gart_mbarrier_arrive(read(before));
#pragma unroll
    for (int i = 0; i < kColumns / 2; ++i) sums.sums[i] += part[i];
  }
};
