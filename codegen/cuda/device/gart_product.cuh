// A block's tile of a matrix product: a ring of operand tiles in shared memory, sums in registers.
#pragma once

#include "gart_fragment.cuh"
#include "gart_operand.cuh"
#include "gart_register_pressure.cuh"

/// Sums on CUDA cores. A warp has 4 x 8 threads; each holds RowsEach x ColumnsEach sums (4 or 8 each).
template <class A, class B, int Depth, int WarpRows, int WarpColumns, int RowsEach, int ColumnsEach, bool ADepth, bool BDepth>
struct gart_scalar_sums {
  static constexpr int kThreads = 32 * WarpRows * WarpColumns;
  static constexpr int kRows = RowsEach, kColumns = ColumnsEach;
  // How many depths are read at once if lines run along the depth.
  static constexpr int kDepths = ADepth || BDepth ? 2 : 1;
  static constexpr int kUnrolled = gart_unrolled_steps(Depth, kDepths);
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
#pragma unroll kUnrolled
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

/// A block's sums in the layout of tensor core fragments. A warp has RowTiles x ColumnTiles tiles of 16 x 8.
template <int WarpRows, int WarpColumns, int RowTiles, int ColumnTiles>
struct gart_fragment_sums {
  static constexpr int kThreads = 32 * WarpRows * WarpColumns;
  static constexpr int kRows = 2 * RowTiles, kColumns = 2 * ColumnTiles;
  float sums[RowTiles][ColumnTiles][4];

  gart_fragment_sums() {
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
};

/// Sums of products of floats on tensor cores.
template <class Kind, class A, class B, int Depth, int WarpRows, int WarpColumns, int RowTiles, int ColumnTiles>
struct gart_tensor_sums : gart_fragment_sums<WarpRows, WarpColumns, RowTiles, ColumnTiles> {
  typedef gart_fragment_sums<WarpRows, WarpColumns, RowTiles, ColumnTiles> Sums;
  static constexpr int kEach = Kind::kDepth / 4;  // depths of a step that each lane holds
  static constexpr int kUnrolled = gart_unrolled_steps(Depth, Kind::kDepth);

  void add(const float* a_tile, const float* b_tile) {
    const int g = threadIdx.x % 32 / 4, t = threadIdx.x % 4;
#pragma unroll kUnrolled
    for (int k = 0; k < Depth; k += Kind::kDepth) {
      typename Kind::A a[RowTiles];
      typename Kind::B b[ColumnTiles];
#pragma unroll
      for (int i = 0; i < RowTiles; ++i) {
        float v[2][kEach];
#pragma unroll
        for (int h = 0; h < 2; ++h)
#pragma unroll
          for (int e = 0; e < kEach; ++e)
            v[h][e] = a_tile[A::Tile::at(Sums::first_row() + i * 16 + h * 8 + g, k + t + 4 * e)];
        Kind::set(a[i], v);
      }
#pragma unroll
      for (int j = 0; j < ColumnTiles; ++j) {
        float v[kEach];
#pragma unroll
        for (int e = 0; e < kEach; ++e) v[e] = b_tile[B::Tile::at(Sums::first_column() + j * 8 + g, k + t + 4 * e)];
        Kind::set(b[j], v);
      }
#pragma unroll
      for (int i = 0; i < RowTiles; ++i)
#pragma unroll
        for (int j = 0; j < ColumnTiles; ++j) Kind::add(this->sums[i][j], a[i], b[j]);
    }
  }
};

/// Sums of products of 16-bit floats on tensor cores.
template <class Kind, class A, class B, int Depth, int WarpRows, int WarpColumns, int RowTiles, int ColumnTiles>
struct gart_half_sums : gart_fragment_sums<WarpRows, WarpColumns, RowTiles, ColumnTiles> {
  typedef gart_fragment_sums<WarpRows, WarpColumns, RowTiles, ColumnTiles> Sums;
  static_assert(ColumnTiles % 2 == 0, "columns are loaded by 16");
  static constexpr int kUnrolled = gart_unrolled_steps(Depth, Kind::kDepth);

  void add(const unsigned short* a_tile, const unsigned short* b_tile) {
#pragma unroll kUnrolled
    for (int k = 0; k < Depth; k += Kind::kDepth) {
      typename Kind::A a[RowTiles];
      typename Kind::B b[ColumnTiles];
#pragma unroll
      for (int i = 0; i < RowTiles; ++i)
        gart_load_rows<Kind, typename A::Tile>(a[i], a_tile, Sums::first_row() + i * 16, k);
#pragma unroll
      for (int j = 0; j < ColumnTiles; j += 2)
        gart_load_columns<Kind, typename B::Tile>(b[j], b[j + 1], b_tile, Sums::first_column() + j * 8, k);
#pragma unroll
      for (int i = 0; i < RowTiles; ++i)
#pragma unroll
        for (int j = 0; j < ColumnTiles; ++j) Kind::add(this->sums[i][j], a[i], b[j]);
    }
  }
};

/// Adds the products of `steps` tiles, of Depth depths each, to `sums`, from depth `first` on. `shared` holds Stages
/// tiles of each operand (at least 2). All threads of the block must call it. Ahead: as in gart_copy_first_tiles.
template <int Depth, int Stages, int Ahead, class A, class B, class Sums>
void gart_add_products(A& a, B& b, Sums& sums, unsigned char* shared, int first, int steps) {
  typedef typename A::Tile::Element Left;
  typedef typename B::Tile::Element Right;
  constexpr int kStage = A::Tile::kBytes + B::Tile::kBytes;
  const auto left = [&](int stage) { return reinterpret_cast<Left*>(shared + stage * kStage); };
  const auto right = [&](int stage) { return reinterpret_cast<Right*>(shared + stage * kStage + A::Tile::kBytes); };
  gart_transfer<A> copy_a;
  gart_transfer<B> copy_b;
  a.seek(first);
  b.seek(first);
  gart_copy_first_tiles<Stages - 1, Ahead>(a, b, copy_a, copy_b, left, right, first, steps);
  int reading = 0, writing = Stages - 1;
#pragma unroll 1
  for (int s = 0; s < steps; ++s) {
    gart_await_copies<Stages - 2>();
    const bool is_more = s + Stages - 1 < steps;
    if (is_more) {
      const int k = first + (s + Stages - 1) * Depth;
      copy_a.begin(a, left(writing), k);
      copy_b.begin(b, right(writing), k);
      a.advance();
      b.advance();
    }
    gart_commit_copies();
    sums.add(left(reading), right(reading));
    if (is_more) {
      copy_a.end(left(writing));
      copy_b.end(right(writing));
    }
    reading = reading + 1 == Stages ? 0 : reading + 1;
    writing = writing + 1 == Stages ? 0 : writing + 1;
  }
}
