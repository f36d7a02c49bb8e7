// Attention for a block of queries. It processes one tile of keys after another: scores, softmax, and the weighted sum
// of values. For each query it keeps the largest score and the sum of weights so far (online softmax). Scores stay in
// registers.
#pragma once

#include "gart_attention_kinds.cuh"

/// A block of threads processes 16 * QueryWarps queries. KeyGroups groups of QueryWarps warps share the keys: in each
/// step, each group processes 8 * KeyTiles keys. Head: depth of the scores. Columns: number of 8-column tiles of a
/// value. Q, K and V are operands with tiles of [16 * QueryWarps][Head], [keys of a step][Head] and [8 * Columns][keys
/// of a step] elements.
template <class Product, class Q, class K, class V, int Head, int Columns, int QueryWarps, int KeyGroups, int KeyTiles>
struct gart_attention {
  static constexpr int kKeys = 8 * KeyTiles, kStep = kKeys * KeyGroups;
  static constexpr int kThreads = 32 * QueryWarps * KeyGroups;
  static constexpr int kRows = 2, kColumns = 2 * Columns;
  typedef typename Product::Element Element;
  float sums[Columns][4];
  float most[2], total[2];

  static int warp_of_queries() { return threadIdx.x / 32 % QueryWarps; }
  static int group() { return threadIdx.x / 32 / QueryWarps; }
  static int row(int i) { return warp_of_queries() * 16 + i * 8 + threadIdx.x % 32 / 4; }
  static int column(int j) { return j / 2 * 8 + threadIdx.x % 4 * 2 + j % 2; }
  float& sum(int i, int j) { return sums[j / 2][i * 2 + j % 2]; }
  /// The warps of the first group hold the results.
  static bool has_results() { return group() == 0; }

  static float over_quad(float v, bool largest) {
#pragma unroll
    for (int mask = 1; mask < 4; mask *= 2) {
      const float other = gart_shuffle_xor(v, mask);
      v = largest ? fmaxf(v, other) : v + other;
    }
    return v;
  }
  /// e^(v - most). While `most` is -infinity, no key has counted yet, and every weight is zero.
  static float weight(float v, float most) {
    return exp2f((v - (most == -gart_infinity() ? 0.0f : most)) * 1.44269504f);
  }
  static float gart_infinity() { return gart_f32_from_bits(0x7f800000u); }

  /// Replaces a tile of scores by weights, adds the weights to `total`, and rescales the sums to the new largest score.
  void weigh(float (&scores)[KeyTiles][4]) {
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      float largest = most[h];
#pragma unroll
      for (int j = 0; j < KeyTiles; ++j) largest = fmaxf(largest, fmaxf(scores[j][h * 2], scores[j][h * 2 + 1]));
      largest = over_quad(largest, true);
      const float before = weight(most[h], largest);
      most[h] = largest;
      float added = 0.0f;
#pragma unroll
      for (int j = 0; j < KeyTiles; ++j)
#pragma unroll
        for (int c = 0; c < 2; ++c) added += scores[j][h * 2 + c] = weight(scores[j][h * 2 + c], largest);
      total[h] = total[h] * before + over_quad(added, false);
#pragma unroll
      for (int c = 0; c < Columns; ++c) {
        sums[c][h * 2] *= before;
        sums[c][h * 2 + 1] *= before;
      }
    }
  }

  /// `shared` holds one tile of Q, and two tiles each of K and V. score(row, key, product) returns the score of a
  /// query, given by its number in the block, and a key below `keys`. Ahead: a bit mask of the operands that no launch
  /// writes (1: Q, 2: K, 4: V). Their first tiles are read before the previous launch ends.
  template <int Ahead, class Score>
  void run(const Q& q, const K& k, const V& v, int keys, unsigned char* shared, const Score& score) {
    constexpr int kKeyTile = K::Tile::kBytes / sizeof(Element), kStage = kKeyTile + V::Tile::kBytes / sizeof(Element);
    Element* queries = reinterpret_cast<Element*>(shared);
    Element* stages = queries + Q::Tile::kBytes / sizeof(Element);
#pragma unroll
    for (int h = 0; h < 2; ++h) most[h] = -gart_infinity(), total[h] = 0.0f;
#pragma unroll
    for (int c = 0; c < Columns; ++c)
#pragma unroll
      for (int e = 0; e < 4; ++e) sums[c][e] = 0.0f;
    gart_transfer<Q> copy_q;
    gart_transfer<K> copy_k;
    gart_transfer<V> copy_v;
    K keys_here = k;
    if (Ahead & 1) copy_q.begin(q, queries, 0);
    if (Ahead & 2) copy_k.begin(keys_here, stages, 0);
    if (Ahead & 4) copy_v.begin(v, stages + kKeyTile, 0);
    gart_await_last_launch();
    if (!(Ahead & 1)) copy_q.begin(q, queries, 0);
    if (!(Ahead & 2)) copy_k.begin(keys_here, stages, 0);
    if (!(Ahead & 4)) copy_v.begin(v, stages + kKeyTile, 0);
    copy_q.end(queries);
    copy_k.end(stages);
    copy_v.end(stages + kKeyTile);
    gart_commit_copies();
    const int steps = (keys + kStep - 1) / kStep;
#pragma unroll 1
    for (int s = 0; s < steps; ++s) {
      Element* stage = stages + s % 2 * kStage;
      Element* next = stages + (s + 1) % 2 * kStage;
      gart_await_copies<0>();
      if (s + 1 < steps) {
        keys_here.skip_rows(kStep);
        copy_k.begin(keys_here, next, 0);
        copy_v.begin(v, next + kKeyTile, (s + 1) * kStep);
        gart_commit_copies();
      }
      const int first = s * kStep + group() * kKeys;
      if (first < keys) step(queries, stage, stage + kKeyTile, first, keys, score);
      if (s + 1 < steps) {
        copy_k.end(next);
        copy_v.end(next + kKeyTile);
      }
    }
    if (KeyGroups > 1) combine(reinterpret_cast<float*>(shared));
#pragma unroll
    for (int h = 0; h < 2; ++h)
#pragma unroll
      for (int c = 0; c < Columns; ++c) {
        sums[c][h * 2] /= total[h];
        sums[c][h * 2 + 1] /= total[h];
      }
  }

  template <class Score>
  void step(const Element* q, const Element* k, const Element* v, int first, int keys, const Score& score) {
    const int key = group() * kKeys, column = threadIdx.x % 4 * 2;
    float scores[KeyTiles][4] = {};
    Product::template score<Q, K, Head, KeyTiles>(q, k, warp_of_queries() * 16, key, scores);
#pragma unroll
    for (int j = 0; j < KeyTiles; ++j)
#pragma unroll
      for (int e = 0; e < 4; ++e) {
        const int at = first + j * 8 + Product::key_of_column(column + e % 2);
        scores[j][e] = at < keys ? score(row(e / 2), at, scores[j][e]) : -gart_infinity();
      }
    weigh(scores);
    Product::template sum<V, KeyTiles, Columns>(scores, v, key, sums);
  }

  /// Adds the sums of the other groups to those of the first group, in the order of the groups. `shared` holds 4 *
  /// Columns + 4 floats for each of (KeyGroups - 1) * QueryWarps * 32 threads.
  void combine(float* shared) {
    constexpr int kFloats = 4 * Columns + 4, kGroup = 32 * QueryWarps;
    __syncthreads();
    if (group() > 0) {
      float* to = shared + threadIdx.x - kGroup;
#pragma unroll
      for (int f = 0; f < kFloats; ++f) {
        const float value = f < 4 * Columns ? sums[f / 4][f % 4] : f % 4 < 2 ? most[f % 2] : total[f % 2];
        to[f * (KeyGroups - 1) * kGroup] = value;
      }
    }
    __syncthreads();
    if (group() > 0) return;
#pragma unroll 1
    for (int other = 0; other < KeyGroups - 1; ++other) {
      const float* from = shared + other * kGroup + threadIdx.x;
      const auto value = [&](int f) { return from[f * (KeyGroups - 1) * kGroup]; };
#pragma unroll
      for (int h = 0; h < 2; ++h) {
        const float their_most = value(4 * Columns + h), largest = fmaxf(most[h], their_most);
        const float own_scale = weight(most[h], largest), other_scale = weight(their_most, largest);
        most[h] = largest;
        total[h] = total[h] * own_scale + value(4 * Columns + 2 + h) * other_scale;
#pragma unroll
        for (int c = 0; c < Columns; ++c)
#pragma unroll
          for (int e = h * 2; e < h * 2 + 2; ++e) sums[c][e] = sums[c][e] * own_scale + value(c * 4 + e) * other_scale;
      }
    }
  }
};
