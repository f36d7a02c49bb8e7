// Products of f32 on sm_90a as three products of tf32 each, by warpgroups, in the frame of gart_tile_loop.cuh. Tensor cores read
// a number's first 19 bits, so a tile as it was copied is its high part; the rest, what those bits leave of it, is a tf32 number,
// too: 22 bits of each factor count, and rest times rest, 2^-22 of a product, is left out. Tensor cores cut what falls below the
// largest term of a sum (Fasi et al. 2021, PeerJ CS 7:e330): each 32 depths are summed by themselves, and steps added to nearest.
//
// A warpgroup of its own writes the rests of the right operand beside it; those that multiply have the left one in registers and
// make its rests themselves.
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

/// What tf32 leaves of a number of the right operand: nothing of infinities, for those the tile has; NaN of NaN, whose first bits may
/// be those of an infinity.
inline unsigned int gart_right_rest(float v) {
  const unsigned int bits = gart_bits_of(v), size = bits & 0x7fffffffu;
  const unsigned int rest = gart_f32_to_tf32(v - gart_f32_from_bits(bits & 0xffffe000u));
  return size < 0x7f800000u ? rest : size == 0x7f800000u ? 0u : 0x7fc00000u;
}

/// A number of the left operand as `high` and `rest`. That of an infinity is its rest: as the high part it would make NaN of a
/// product with a rest of zero. For the other operand's infinities no rest is zero but that of zero.
inline void gart_split_left(float v, unsigned int& high, unsigned int& rest) {
  const unsigned int bits = gart_bits_of(v), size = bits & 0x7fffffffu, sign = bits & 0x80000000u;
  const unsigned int left = gart_f32_to_tf32(v - gart_f32_from_bits(bits & 0xffffe000u));
  const bool is_finite = size < 0x7f800000u, is_whole = (left & 0x7fffffffu) == 0u && size != 0u;
  high = is_finite ? bits : sign | 0x3f800000u;
  rest = !is_finite ? (size == 0x7f800000u ? bits : 0x7fc00000u) : is_whole ? sign | 0x00800000u : left;
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
#pragma unroll
      for (int i = 0; i < kEach; ++i) {
        gart_vector<unsigned int, 4> rests;
#pragma unroll
        for (int e = 0; e < 4; ++e) rests.at[e] = gart_right_rest(v[i].at[e]);
        gart_store(reinterpret_cast<unsigned int*>(from + Right::kBytes / 4 + i * 512), rests);
      }
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
#pragma unroll
    for (int i = 0; i < 16; ++i) gart_split_left(now[i], high[i], rest[i]);
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
