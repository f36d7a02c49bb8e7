// The two matrix products of attention, as one warp computes them: queries * keys, and weights * values.
#pragma once

#include "gart_arithmetic.cuh"
#include "gart_product.cuh"

// How a warp multiplies. Fragments of scores and results have the layout of the tensor cores' C: in a 16 x 8 tile,
// element e of lane (g, t) is at row g + 8 * (e / 2), column 2t + e % 2. Keys are permuted so that a lane's scores are
// already its part of the left factor of the second product. With floats (one value per register), column 2t + j is key
// t + 4j. With 16-bit elements, it is key 2t + j.

template <class Kind>
struct gart_attention_tensor {
  typedef float Element;
  /// The key (0 to 7) in this column of a tile.
  static int key_of_column(int column) { return column / 2 + column % 2 * 4; }
  static constexpr int kTiles = Kind::kDepth / 8;  // 8-key tiles per instruction of the second product
  static constexpr int kEach = Kind::kDepth / 4;

  /// scores[j] += 16 rows of Q, from `row` on, times tile j of the keys. The sum runs over Depth.
  template <class Q, class K, int Depth, int Tiles>
  static void score(const float* q, const float* k, int row, int key, float (&scores)[Tiles][4]) {
    const int g = threadIdx.x % 32 / 4, t = threadIdx.x % 4;
#pragma unroll
    for (int d = 0; d < Depth; d += Kind::kDepth) {
      typename Kind::A a;
      float rows[2][kEach];
#pragma unroll
      for (int h = 0; h < 2; ++h)
#pragma unroll
        for (int e = 0; e < kEach; ++e) rows[h][e] = q[Q::Tile::at(row + h * 8 + g, d + t + 4 * e)];
      Kind::set(a, rows);
#pragma unroll
      for (int j = 0; j < Tiles; ++j) {
        typename Kind::B b;
        float column[kEach];
#pragma unroll
        for (int e = 0; e < kEach; ++e) column[e] = k[K::Tile::at(key + j * 8 + key_of_column(g), d + t + 4 * e)];
        Kind::set(b, column);
        Kind::add(scores[j], a, b);
      }
    }
  }

  /// sums += weights * V
  template <class V, int Tiles, int Columns>
  static void sum(const float (&weights)[Tiles][4], const float* v, int key, float (&sums)[Columns][4]) {
    const int g = threadIdx.x % 32 / 4, t = threadIdx.x % 4;
#pragma unroll
    for (int j = 0; j < Tiles; j += kTiles) {
      typename Kind::A a;
      float rows[2][kEach];
#pragma unroll
      for (int h = 0; h < 2; ++h)
#pragma unroll
        for (int e = 0; e < kEach; ++e) rows[h][e] = weights[j + e / 2][h * 2 + e % 2];
      Kind::set(a, rows);
#pragma unroll
      for (int c = 0; c < Columns; ++c) {
        typename Kind::B b;
        float column[kEach];
#pragma unroll
        for (int e = 0; e < kEach; ++e) column[e] = v[V::Tile::at(c * 8 + g, key + j * 8 + t + 4 * e)];
        Kind::set(b, column);
        Kind::add(sums[c], a, b);
      }
    }
  }
};

/// The two products for 16-bit elements.
template <class Kind>
struct gart_attention_half {
  typedef unsigned short Element;
  static constexpr int kTiles = Kind::kDepth / 8;
  static int key_of_column(int column) { return column; }

  template <class Q, class K, int Depth, int Tiles>
  static void score(const Element* q, const Element* k, int row, int key, float (&scores)[Tiles][4]) {
    static_assert(Tiles % 2 == 0, "keys are loaded by 16");
#pragma unroll
    for (int d = 0; d < Depth; d += Kind::kDepth) {
      typename Kind::A a;
      gart_load_rows<Kind, typename Q::Tile>(a, q, row, d);
#pragma unroll
      for (int j = 0; j < Tiles; j += 2) {
        typename Kind::B b[2];
        gart_load_columns<Kind, typename K::Tile>(b[0], b[1], k, key + j * 8, d);
        Kind::add(scores[j], a, b[0]);
        Kind::add(scores[j + 1], a, b[1]);
      }
    }
  }

  template <class V, int Tiles, int Columns>
  static void sum(const float (&weights)[Tiles][4], const Element* v, int key, float (&sums)[Columns][4]) {
    static_assert(Columns % 2 == 0, "values are loaded by 16");
#pragma unroll
    for (int j = 0; j < Tiles; j += kTiles) {
      typename Kind::A a;
#pragma unroll
      for (int r = 0; r < 2 * kTiles; ++r) a.at[r] = Kind::pack(weights[j + r / 2][r % 2 * 2], weights[j + r / 2][r % 2 * 2 + 1]);
#pragma unroll
      for (int c = 0; c < Columns; c += 2) {
        typename Kind::B b[2];
        gart_load_columns<Kind, typename V::Tile>(b[0], b[1], v, c * 8, key + j * 8);
        Kind::add(sums[c], a, b[0]);
        Kind::add(sums[c + 1], a, b[1]);
      }
    }
  }
};

/// The two products on CUDA cores.
struct gart_attention_scalar {
  typedef float Element;
  static int key_of_column(int column) { return column / 2 + column % 2 * 4; }
  template <class Q, class K, int Depth, int Tiles>
  static void score(const float* q, const float* k, int row, int key, float (&scores)[Tiles][4]) {
    const int g = threadIdx.x % 32 / 4, t = threadIdx.x % 4;
#pragma unroll 2
    for (int d = 0; d < Depth; d += 4) {
      gart_vector<float, 4> a[2];
#pragma unroll
      for (int h = 0; h < 2; ++h) a[h] = gart_load<4>(q + Q::Tile::at(row + h * 8 + g, d));
#pragma unroll
      for (int j = 0; j < Tiles; ++j)
#pragma unroll
        for (int c = 0; c < 2; ++c) {
          const gart_vector<float, 4> b = gart_load<4>(k + K::Tile::at(key + j * 8 + t + 4 * c, d));
#pragma unroll
          for (int h = 0; h < 2; ++h)
#pragma unroll
            for (int e = 0; e < 4; ++e) scores[j][h * 2 + c] = fmaf(a[h].at[e], b.at[e], scores[j][h * 2 + c]);
        }
    }
  }

  template <class V, int Tiles, int Columns>
  static void sum(const float (&weights)[Tiles][4], const float* v, int key, float (&sums)[Columns][4]) {
    const int t = threadIdx.x % 4, first = threadIdx.x % 32 - t;
#pragma unroll
    for (int j = 0; j < Tiles; ++j)
#pragma unroll
      for (int n = 0; n < 8; ++n) {
        const float upper = __shfl_sync(0xffffffffu, weights[j][n / 4], first + n % 4);
        const float lower = __shfl_sync(0xffffffffu, weights[j][2 + n / 4], first + n % 4);
#pragma unroll
        for (int c = 0; c < Columns; ++c) {
          const gart_vector<float, 2> b = gart_load<2>(v + V::Tile::at(c * 8 + 2 * t, key + j * 8 + n));
#pragma unroll
          for (int e = 0; e < 2; ++e) {
            sums[c][e] = fmaf(upper, b.at[e], sums[c][e]);
            sums[c][2 + e] = fmaf(lower, b.at[e], sums[c][2 + e]);
          }
        }
      }
  }
};
