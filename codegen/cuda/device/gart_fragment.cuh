// Kinds of arithmetic on tensor cores, and how a warp loads their fragments from tiles in shared memory.
#pragma once

#include "gart_memory.cuh"
#include "gart_tensor.cuh"

// Each kind defines a lane's registers for one k-step, A and B, and their product. For f32 values, value j of a lane is
// depth t + 4 * j of the step, in A and in B. Any order of depths gives the same sum if A and B agree. This order reads
// shared memory without bank conflicts.
#if __CUDA_ARCH__ >= 800
struct gart_tf32 {
  static constexpr int kDepth = 8;
  struct A { unsigned int at[4]; };
  struct B { unsigned int at[2]; };
  static void set(A& a, const float (&v)[2][2]) {
#pragma unroll
    for (int r = 0; r < 4; ++r) a.at[r] = gart_f32_to_tf32(v[r % 2][r / 2]);
  }
  static void set(B& b, const float (&v)[2]) {
#pragma unroll
    for (int r = 0; r < 2; ++r) b.at[r] = gart_f32_to_tf32(v[r]);
  }
  static void add(float (&c)[4], const A& a, const B& b) { gart_mma_m16n8k8_tf32(c, a.at, b.at); }
};

/// Splits each value into a sum of two tf32 numbers, which have 22 bits together. The product of the two low parts,
/// 2^-22 of a product, is omitted. An infinity goes into the low part: as the high part it would give NaN if the low
/// part of the other factor is zero. Tensor cores truncate bits below the largest term of a sum, including the sum so
/// far (Fasi et al. 2021, PeerJ CS 7:e330). Over a depth of 4096 the error would reach 1e-4. Therefore each step's
/// products are summed separately, and these sums are added with rounding to nearest.
struct gart_tf32x3 {
  static constexpr int kDepth = 8;
  struct A { unsigned int high[4], low[4]; };
  struct B { unsigned int high[2], low[2]; };
  static void split(float v, unsigned int& high, unsigned int& low) {
    const unsigned int bits = gart_bits_of(v);
    const bool infinite = (bits & 0x7fffffffu) == 0x7f800000u;
    high = infinite ? (bits & 0x80000000u) | 0x3f800000u : bits & 0xffffe000u;
    low = infinite ? bits : gart_f32_to_tf32(v - gart_f32_from_bits(high));
  }
  static void set(A& a, const float (&v)[2][2]) {
#pragma unroll
    for (int r = 0; r < 4; ++r) split(v[r % 2][r / 2], a.high[r], a.low[r]);
  }
  static void set(B& b, const float (&v)[2]) {
#pragma unroll
    for (int r = 0; r < 2; ++r) split(v[r], b.high[r], b.low[r]);
  }
  static void add(float (&c)[4], const A& a, const B& b) {
    float step[4] = {0.0f, 0.0f, 0.0f, 0.0f};
    gart_mma_m16n8k8_tf32(step, a.low, b.high);
    gart_mma_m16n8k8_tf32(step, a.high, b.low);
    gart_mma_m16n8k8_tf32(step, a.high, b.high);
#pragma unroll
    for (int i = 0; i < 4; ++i) c[i] += step[i];
  }
};

/// 16-bit elements. Shared memory holds them in pairs, as the tensor cores read them.
struct gart_f16 {
  static constexpr int kDepth = 16;
  struct A { unsigned int at[4]; };
  struct B { unsigned int at[2]; };
  static unsigned int pack(float low, float high) { return gart_pack_f16(low, high); }
  static void add(float (&c)[4], const A& a, const B& b) { gart_mma_m16n8k16_f16(c, a.at, b.at); }
};
struct gart_bf16 {
  static constexpr int kDepth = 16;
  struct A { unsigned int at[4]; };
  struct B { unsigned int at[2]; };
  static unsigned int pack(float low, float high) { return gart_pack_bf16(low, high); }
  static void add(float (&c)[4], const A& a, const B& b) { gart_mma_m16n8k16_bf16(c, a.at, b.at); }
};
#else
struct gart_f16 {
  static constexpr int kDepth = 8;
  struct A { unsigned int at[2]; };
  struct B { unsigned int at[1]; };
  static unsigned int pack(float low, float high) { return gart_pack_f16(low, high); }
  static void add(float (&c)[4], const A& a, const B& b) { gart_mma_m16n8k8_f16(c, a.at, b.at); }
};
#endif

/// Loads a fragment of 16 rows from `row` on, and Kind::kDepth depths from `depth` on. The tile has 16-bit elements.
/// The whole warp must call it.
template <class Kind, class Tile>
void gart_load_rows(typename Kind::A& a, const unsigned short* tile, int row, int depth) {
  const int lane = threadIdx.x % 32;
  if constexpr (Kind::kDepth == 16) {
    if constexpr (Tile::kAlongDepth) gart_ldmatrix_x4(a.at, tile + Tile::at(row + lane % 16, depth + lane / 16 * 8));
    else gart_ldmatrix_x4_trans(a.at, tile + Tile::at(row + lane / 8 % 2 * 8, depth + lane % 8 + lane / 16 * 8));
  } else {
    if constexpr (Tile::kAlongDepth) gart_ldmatrix_x2(a.at, tile + Tile::at(row + lane % 16, depth));
    else gart_ldmatrix_x2_trans(a.at, tile + Tile::at(row + lane / 8 % 2 * 8, depth + lane % 8));
  }
}
/// Loads two fragments of 8 columns each, from `column` on.
template <class Kind, class Tile>
void gart_load_columns(typename Kind::B& first, typename Kind::B& second, const unsigned short* tile, int column, int depth) {
  const int lane = threadIdx.x % 32;
  if constexpr (Kind::kDepth == 16) {
    unsigned int both[4];
    if constexpr (Tile::kAlongDepth)
      gart_ldmatrix_x4(both, tile + Tile::at(column + lane % 8 + lane / 16 * 8, depth + lane / 8 % 2 * 8));
    else gart_ldmatrix_x4_trans(both, tile + Tile::at(column + lane / 16 * 8, depth + lane % 16));
#pragma unroll
    for (int r = 0; r < 2; ++r) first.at[r] = both[r], second.at[r] = both[2 + r];
  } else {
    unsigned int both[2];
    if constexpr (Tile::kAlongDepth) gart_ldmatrix_x2(both, tile + Tile::at(column + lane % 16, depth));
    else gart_ldmatrix_x2_trans(both, tile + Tile::at(column + lane / 8 % 2 * 8, depth + lane % 8));
    first.at[0] = both[0];
    second.at[0] = both[1];
  }
}
