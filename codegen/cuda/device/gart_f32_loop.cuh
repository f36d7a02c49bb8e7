// f32 products on sm_90a, each as three tf32 products, by warpgroups, on the basis of gart_tile_loop.cuh. Tensor cores
// read the first 19 bits of a number, so a copied tile is its own high part. The remainder (the number minus those
// bits) is a tf32 number, too. Together they have 22 bits of each factor. The product of two remainders, 2^-22 of a
// product, is omitted. Tensor cores truncate bits below the largest term of a sum (Fasi et al. 2021, PeerJ CS 7:e330).
// Therefore each 32 depths are summed separately, and these sums are added with rounding to nearest.
//
// A separate warpgroup computes the remainders of the right operand and writes them beside it. The multiplying
// warpgroups hold the left operand in registers, and compute its remainders themselves. Infinities and NaNs give the
// same results as in an f32 product.
#pragma once

#include "gart_tile_loop.cuh"
#include "gart_wgmma_whole.cuh"

/// 32 depths per step.
struct gart_f32_depths {
  static int of(int step) { return step * 32; }
};

/// An f32 tile in the layout that wgmma reads: lines of 32 elements, 16-byte chunk c of line l at position c ^ l % 8.
template <int Rows>
struct gart_f32_tile {
  typedef float Element;
  static constexpr int kRows = Rows, kDepth = 32, kBytes = Rows * 128, kNextDepths = 2;
  static constexpr bool kAlongDepth = true;
};

/// Splits a number into two tf32 numbers: `high`, of which tensor cores read the first 19 bits, and the rounded
/// remainder. Returns the remainder before rounding; it is NaN if v is not finite.
inline float gart_split_f32(float v, unsigned int& high, unsigned int& rest) {
  high = gart_bits_of(v);
  const float left = v - gart_f32_from_bits(high & 0xffffe000u);
  rest = gart_f32_to_tf32(left);
  return left;
}
/// As gart_split_f32, for a number that may be infinite or NaN: `rest` is then the number itself. As the high part, an
/// infinity would give NaN when it is multiplied by a remainder of zero, and the first bits of a NaN may be those of an
/// infinity.
inline void gart_split_any(float v, unsigned int& high, unsigned int& rest) {
  gart_split_f32(v, high, rest);
  const unsigned int size = high & 0x7fffffffu;
  if (size < 0x7f800000u) return;
  rest = size == 0x7f800000u ? high : 0x7fc00000u;
  high = (high & 0x80000000u) | 0x3f800000u;
}

/// As gart_tile_loop with two multiplying warpgroups. Threads that compute remainders have `Splitting` registers.
template <class A, class B, int Stages, int Few, int Splitting, int Many, int Buffers, int Sets>
struct gart_f32_loop
    : gart_tile_loop<gart_wide_tf32, A, B, Stages, 2, Few, Many, Buffers, Sets, B::Tile::kBytes> {
  typedef gart_tile_loop<gart_wide_tf32, A, B, Stages, 2, Few, Many, Buffers, Sets, B::Tile::kBytes> Loop;
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

  unsigned long long* split(int s) const { return Loop::barrier(2 * Stages + 2 * Sets + s); }

  /// All threads of the block must call it.
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
  /// True if this thread computes remainders.
  bool splits() const {
    if (warp < kMultiplying / 32) return false;
    if constexpr (Loop::kShares) gart_give_registers<Splitting>();
    return true;
  }

  /// Computes the remainders of the right operand for the steps of a tile.
  void make_rests(int steps) {
    constexpr int kEach = Right::kBytes / (128 * 16);
    const int thread = threadIdx.x - kMultiplying;
#pragma unroll 1
    for (int s = 0; s < steps; ++s) {
      gart_mbarrier_wait(full(stage), parity);
      // The layout does not matter here, because the remainder of each number is at a fixed distance after it.
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

  /// Multiplies the steps of a tile, at least one.
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
  /// Splits a thread's numbers, which may be infinite or NaN, and replaces them by their high parts.
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

  /// Loads a lane's part of 16 rows and 32 depths: fragment A of m16n8k8 for each 8 depths.
  void load(float (&a)[16], int s) const {
    const int g = threadIdx.x % 32 / 4, t = threadIdx.x % 4;
    const float* const lines = reinterpret_cast<const float*>(Loop::left(s)) + (warp * 16 + g) * 32 + t;
#pragma unroll
    for (int i = 0; i < 16; ++i) a[i] = lines[i % 2 * 256 + ((i / 4 * 2 + i / 2 % 2) ^ g) * 4];
  }

  /// Multiplies the factors in `now`, and meanwhile loads the next ones into `next`: registers must not be written
  /// while products read them.
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
