// A block's tile of a matrix product: a ring of operand tiles in shared memory, sums in registers.
#pragma once

#include "gart_operand.cuh"

/// Sums on CUDA cores. A warp takes 4 x 8 threads of RowsEach x ColumnsEach sums (4 or 8 each).
template <class A, class B, int Depth, int WarpRows, int WarpColumns, int RowsEach, int ColumnsEach, bool ADepth, bool BDepth>
struct gart_scalar_sums {
  static constexpr int kThreads = 32 * WarpRows * WarpColumns;
  static constexpr int kRows = RowsEach, kColumns = ColumnsEach;
  static constexpr int kDepths = ADepth || BDepth ? 2 : 1;  // depths read at once, where lines run along the depth
  float sums[kRows][kColumns];

  gart_scalar_sums() {
#pragma unroll
    for (int i = 0; i < kRows; ++i)
#pragma unroll
      for (int j = 0; j < kColumns; ++j) sums[i][j] = 0.0f;
  }

  static int row(int i) {
    const int lane = threadIdx.x % 32 / 8, warp = threadIdx.x / 32 % WarpRows;
    return warp * 4 * kRows + (ADepth ? lane + 4 * i : i / 4 * 16 + lane * 4 + i % 4);
  }
  static int column(int j) {
    const int lane = threadIdx.x % 8, warp = threadIdx.x / 32 / WarpRows;
    return warp * 8 * kColumns + (BDepth ? lane + 8 * j : j / 4 * 32 + lane * 4 + j % 4);
  }
  float& sum(int i, int j) { return sums[i][j]; }

  /// values[d][i] = tile(position of i, k + d)
  template <class Tile, bool AlongDepth, int Count, class Position>
  static void read(const float* tile, int k, float (&values)[kDepths][Count], Position position) {
    if (AlongDepth) {
#pragma unroll
      for (int i = 0; i < Count; ++i) {
        const gart_vector<float, kDepths> v = gart_load<kDepths>(tile + Tile::at(position(i), k));
#pragma unroll
        for (int d = 0; d < kDepths; ++d) values[d][i] = v.at[d];
      }
    } else {
#pragma unroll
      for (int d = 0; d < kDepths; ++d)
#pragma unroll
        for (int i = 0; i < Count; i += 4) {
          const gart_vector<float, 4> v = gart_load<4>(tile + Tile::at(position(i), k + d));
#pragma unroll
          for (int e = 0; e < 4; ++e) values[d][i + e] = v.at[e];
        }
    }
  }

  void add(const float* a_tile, const float* b_tile) {
#pragma unroll
    for (int k = 0; k < Depth; k += kDepths) {
      float a[kDepths][kRows], b[kDepths][kColumns];
      read<typename A::Tile, ADepth>(a_tile, k, a, row);
      read<typename B::Tile, BDepth>(b_tile, k, b, column);
#pragma unroll
      for (int d = 0; d < kDepths; ++d)
#pragma unroll
        for (int i = 0; i < kRows; ++i)
#pragma unroll
          for (int j = 0; j < kColumns; ++j) sums[i][j] = fmaf(a[d][i], b[d][j], sums[i][j]);
    }
  }
};

// Kinds of tensor core arithmetic: a k-step's registers from f32 values, and their product. Value j of a lane has depth
// t + 4 * j of the step, for A and B alike: any order of the depths gives the same sum, and this one reads shared memory
// without bank conflicts.
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

/// Each value as the sum of two tf32 numbers, 22 bits together: what is left out is 2^-22 of a product. The smaller one of an
/// infinity is the infinity: the larger one would make NaN of it where the other factor's smaller one is zero.
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
    gart_mma_m16n8k8_tf32(c, a.low, b.high);
    gart_mma_m16n8k8_tf32(c, a.high, b.low);
    gart_mma_m16n8k8_tf32(c, a.high, b.high);
  }
};

struct gart_f16 {
  static constexpr int kDepth = 16;
  struct A { unsigned int at[4]; };
  struct B { unsigned int at[2]; };
  static void set(A& a, const float (&v)[2][4]) {
#pragma unroll
    for (int r = 0; r < 4; ++r) a.at[r] = gart_pack_f16(v[r % 2][r / 2 * 2], v[r % 2][r / 2 * 2 + 1]);
  }
  static void set(B& b, const float (&v)[4]) {
#pragma unroll
    for (int r = 0; r < 2; ++r) b.at[r] = gart_pack_f16(v[r * 2], v[r * 2 + 1]);
  }
  static void add(float (&c)[4], const A& a, const B& b) { gart_mma_m16n8k16_f16(c, a.at, b.at); }
};

struct gart_bf16 {
  static constexpr int kDepth = 16;
  struct A { unsigned int at[4]; };
  struct B { unsigned int at[2]; };
  static void set(A& a, const float (&v)[2][4]) {
#pragma unroll
    for (int r = 0; r < 4; ++r) a.at[r] = gart_pack_bf16(v[r % 2][r / 2 * 2], v[r % 2][r / 2 * 2 + 1]);
  }
  static void set(B& b, const float (&v)[4]) {
#pragma unroll
    for (int r = 0; r < 2; ++r) b.at[r] = gart_pack_bf16(v[r * 2], v[r * 2 + 1]);
  }
  static void add(float (&c)[4], const A& a, const B& b) { gart_mma_m16n8k16_bf16(c, a.at, b.at); }
};
#else
struct gart_f16 {
  static constexpr int kDepth = 8;
  struct A { unsigned int at[2]; };
  struct B { unsigned int at[1]; };
  static void set(A& a, const float (&v)[2][2]) {
#pragma unroll
    for (int r = 0; r < 2; ++r) a.at[r] = gart_pack_f16(v[r][0], v[r][1]);
  }
  static void set(B& b, const float (&v)[2]) { b.at[0] = gart_pack_f16(v[0], v[1]); }
  static void add(float (&c)[4], const A& a, const B& b) { gart_mma_m16n8k8_f16(c, a.at, b.at); }
};
#endif

/// Sums on tensor cores. A warp has RowTiles x ColumnTiles tiles of 16 x 8.
template <class Kind, class A, class B, int Depth, int WarpRows, int WarpColumns, int RowTiles, int ColumnTiles>
struct gart_tensor_sums {
  static constexpr int kThreads = 32 * WarpRows * WarpColumns;
  static constexpr int kRows = 2 * RowTiles, kColumns = 2 * ColumnTiles;
  static constexpr int kEach = Kind::kDepth / 4;  // depths of a step that a lane has
  float sums[RowTiles][ColumnTiles][4];

  gart_tensor_sums() {
#pragma unroll
    for (int i = 0; i < RowTiles; ++i)
#pragma unroll
      for (int j = 0; j < ColumnTiles; ++j)
#pragma unroll
        for (int e = 0; e < 4; ++e) sums[i][j][e] = 0.0f;
  }

  static int first_row() { return threadIdx.x / 32 % WarpRows * 16 * RowTiles; }
  static int first_column() { return threadIdx.x / 32 / WarpRows * 8 * ColumnTiles; }
  static int row(int i) { return first_row() + i / 2 * 16 + i % 2 * 8 + threadIdx.x % 32 / 4; }
  static int column(int j) { return first_column() + j / 2 * 8 + threadIdx.x % 4 * 2 + j % 2; }
  float& sum(int i, int j) { return sums[i / 2][j / 2][i % 2 * 2 + j % 2]; }

  void add(const float* a_tile, const float* b_tile) {
    const int g = threadIdx.x % 32 / 4, t = threadIdx.x % 4;
#pragma unroll
    for (int k = 0; k < Depth; k += Kind::kDepth) {
      typename Kind::A a[RowTiles];
      typename Kind::B b[ColumnTiles];
#pragma unroll
      for (int i = 0; i < RowTiles; ++i) {
        float v[2][kEach];
#pragma unroll
        for (int h = 0; h < 2; ++h)
#pragma unroll
          for (int e = 0; e < kEach; ++e) v[h][e] = a_tile[A::Tile::at(first_row() + i * 16 + h * 8 + g, k + t + 4 * e)];
        Kind::set(a[i], v);
      }
#pragma unroll
      for (int j = 0; j < ColumnTiles; ++j) {
        float v[kEach];
#pragma unroll
        for (int e = 0; e < kEach; ++e) v[e] = b_tile[B::Tile::at(first_column() + j * 8 + g, k + t + 4 * e)];
        Kind::set(b[j], v);
      }
#pragma unroll
      for (int i = 0; i < RowTiles; ++i)
#pragma unroll
        for (int j = 0; j < ColumnTiles; ++j) Kind::add(sums[i][j], a[i], b[j]);
    }
  }
};

/// Adds the products of `steps` tiles of Depth from depth `first` on to `sums`. Shared memory: Stages tiles of each
/// operand (2 at least). All threads of the block must call it.
template <int Depth, int Stages, class A, class B, class Sums>
void gart_add_products(A& a, B& b, Sums& sums, float* shared, int first, int steps) {
  constexpr int kStage = A::Tile::kFloats + B::Tile::kFloats;
  a.seek(first);
  b.seek(first);
#if __CUDA_ARCH__ >= 800
#pragma unroll
  for (int s = 0; s < Stages - 1; ++s) {
    if (s < steps) {
      float* stage = shared + s * kStage;
      gart_copy_tile(a, stage, first + s * Depth);
      gart_copy_tile(b, stage + A::Tile::kFloats, first + s * Depth);
      a.advance();
      b.advance();
    }
    gart_cp_async_commit();
  }
  int reading = 0, writing = Stages - 1;
#pragma unroll 1
  for (int s = 0; s < steps; ++s) {
    gart_cp_async_wait<Stages - 2>();
    __syncthreads();
    if (s + Stages - 1 < steps) {
      float* stage = shared + writing * kStage;
      const int k = first + (s + Stages - 1) * Depth;
      gart_copy_tile(a, stage, k);
      gart_copy_tile(b, stage + A::Tile::kFloats, k);
      a.advance();
      b.advance();
    }
    gart_cp_async_commit();
    sums.add(shared + reading * kStage, shared + reading * kStage + A::Tile::kFloats);
    reading = reading + 1 == Stages ? 0 : reading + 1;
    writing = writing + 1 == Stages ? 0 : writing + 1;
  }
#else
  gart_held_tile<A> held_a;
  gart_held_tile<B> held_b;
  if (steps > 0) {
    held_a.read(a, first);
    held_b.read(b, first);
    held_a.write(shared);
    held_b.write(shared + A::Tile::kFloats);
  }
#pragma unroll 1
  for (int s = 0; s < steps; ++s) {
    float* stage = shared + s % 2 * kStage;
    float* next = shared + (s + 1) % 2 * kStage;
    __syncthreads();
    if (s + 1 < steps) {
      a.advance();
      b.advance();
      held_a.read(a, first + (s + 1) * Depth);
      held_b.read(b, first + (s + 1) * Depth);
    }
    sums.add(stage, stage + A::Tile::kFloats);
    if (s + 1 < steps) {
      held_a.write(next);
      held_b.write(next + A::Tile::kFloats);
    }
  }
#endif
}
