// The parts of attention by warpgroups (sm_90a) that are not products: which blocks of keys a tile of queries sees, the
// softmax of a fragment of scores, and the store of results.
#pragma once

#include "gart_fragment.cuh"
#include "gart_half_pairs.cuh"
#include "gart_tma.cuh"
#include "gart_warp.cuh"
#include "gart_wgmma.cuh"

#ifdef __CUDA_ARCH_FEAT_SM90_ALL

#ifndef GART_EVEN_REGISTERS
#define GART_EVEN_REGISTERS 0
#endif

template <bool Value>
struct gart_flag {
  static constexpr bool value = Value;
};

/// The keys that query `row` sees: those below `end`. If the last bound moves with the query, it sees only keys up to
/// row + `last`. If the first bound moves, it sees only keys from row + `first` on.
struct gart_seen_keys {
  int end, last, first;
};

/// Clamps a bound, so that it fits an int. All bounds beyond the keys are equivalent.
inline int gart_bound_of_keys(long long value) {
  const long long far = 1ll << 30;
  return (int)(value < -far ? -far : value > far ? far : value);
}

/// A tile of queries of head `batch`, from `row` on, and the blocks of keys [begin, end) that it sees.
struct gart_attention_tile {
  int batch, row, begin, end;
  gart_seen_keys seen;
};

/// Distributes tiles of `Queries` queries among the blocks of the launch; a tile reads its keys in blocks of `Keys`.
/// Usually a unit of work is one tile. If only the last bound moves, later tiles have more work. A unit is then two
/// tiles of a head, paired so that all units have the same work. If Splits > 1, a unit is one tile, and the `Splits`
/// blocks of a cluster share its keys.
template <int Queries, int Keys, int Splits, bool LastMoves, bool FirstMoves, class Seen>
struct gart_attention_tiles {
  static constexpr int kSplits = Splits;
  static constexpr bool kLastMoves = LastMoves, kFirstMoves = FirstMoves;
  static constexpr bool kPairs = LastMoves && !FirstMoves && Splits == 1;
  int rows, of_head, units_of_head, units;
  const Seen& seen;  // seen(batch) returns gart_seen_keys

  gart_attention_tiles(int rows_, int heads, const Seen& seen_) : rows(rows_), seen(seen_) {
    of_head = (rows + Queries - 1) / Queries;
    units_of_head = kPairs ? (of_head + 1) / 2 : of_head;
    units = units_of_head * heads;
  }
  static int first_unit() { return (int)blockIdx.x / Splits; }
  static int unit_step() { return (int)gridDim.x / Splits; }
  int parts(int unit) const { return kPairs && unit % units_of_head != of_head - 1 - unit % units_of_head ? 2 : 1; }
  gart_attention_tile tile(int unit, int part) const {
    gart_attention_tile t;
    t.batch = unit / units_of_head;
    const int number = unit % units_of_head;
    t.row = (part == 1 ? of_head - 1 - number : number) * Queries;
    t.seen = seen(t.batch);
    int end = t.seen.end, first = 0;
    if (LastMoves) end = gart_min(end, gart_min(t.row + Queries, rows) + t.seen.last);
    end = gart_max(0, end);
    if (FirstMoves) first = gart_max(0, t.row + t.seen.first);
    t.end = (end + Keys - 1) / Keys;
    t.begin = gart_min(first / Keys, t.end);
    if (Splits > 1) {
      const int each = (t.end - t.begin + Splits - 1) / Splits;
      t.begin = gart_min(t.end, t.begin + (int)blockIdx.x % Splits * each);
      t.end = gart_min(t.end, t.begin + each);
    }
    return t;
  }
  /// The first block of keys that contains a key after the last one that the tile's first query sees.
  template <int Keys_>
  int first_dropped_above(const gart_attention_tile& t) const {
    return gart_max(0, t.row + t.seen.last + 1) / Keys_;
  }
  /// The first block of keys that contains no key before the first one that the tile's last query sees.
  template <int Keys_, int Queries_>
  int last_dropped_below(const gart_attention_tile& t) const {
    return gart_max(t.begin, (gart_max(0, t.row + Queries_ - 1 + t.seen.first) + Keys_ - 1) / Keys_);
  }

  /// Sets the scores of keys that a query does not see to -infinity, for this warp's queries from `row0` on and block
  /// `n` of the keys.
  template <int Keys_>
  static void drop(float (&scores)[Keys_ / 2], const gart_attention_tile& t, int row0, int n) {
    const int row = row0 + threadIdx.x % 32 / 4, key0 = n * Keys_ + threadIdx.x % 4 * 2;
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      const int here = row + h * 8;
      const int end = LastMoves ? gart_min(t.seen.end, here + t.seen.last + 1) : t.seen.end;
#pragma unroll
      for (int j = 0; j < Keys_ / 8; ++j)
#pragma unroll
        for (int e = 0; e < 2; ++e) {
          const int key = key0 + j * 8 + e;
          if (key >= end || (FirstMoves && key < here + t.seen.first)) scores[j * 4 + h * 2 + e] = -gart_f32_from_bits(0x7f800000u);
        }
    }
  }
};

/// The online softmax of a warp's 16 queries, `Keys` keys per step. A lane holds two queries.
template <int Keys>
struct gart_softmax {
  float most[2], total[2];

  gart_softmax() {
    most[0] = most[1] = -gart_f32_from_bits(0x7f800000u);
    total[0] = total[1] = 0.0f;
  }
  static int lane_row() { return threadIdx.x % 32 / 4; }
  static int lane_key() { return threadIdx.x % 4 * 2; }

  /// Replaces scores by weights. The caller must multiply earlier sums by `before`. All weights of a query are zero
  /// until it sees a key.
  void weigh(float (&scores)[Keys / 2], float log2_scale, float (&before)[2]) {
    const float nothing = -gart_f32_from_bits(0x7f800000u);
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      float largest = most[h];
#pragma unroll
      for (int j = 0; j < Keys / 8; ++j) largest = fmaxf(largest, fmaxf(scores[4 * j + 2 * h], scores[4 * j + 2 * h + 1]));
      largest = fmaxf(largest, gart_shuffle_xor(largest, 1));
      largest = fmaxf(largest, gart_shuffle_xor(largest, 2));
      const float offset = (largest == nothing ? 0.0f : -largest) * log2_scale;
      before[h] = gart_exp2_fast(fmaf(most[h], log2_scale, offset));
      most[h] = largest;
      float added = 0.0f;
#pragma unroll
      for (int j = 0; j < Keys / 8; ++j)
#pragma unroll
        for (int e = 0; e < 2; ++e) {
          float& s = scores[4 * j + 2 * h + e];
          s = gart_exp2_fast(fmaf(s, log2_scale, offset));
          added += s;
        }
      total[h] = fmaf(total[h], before[h], added);
    }
  }
  /// Adds the sums of weights of the four lanes that share a query.
  void add_lanes() {
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      total[h] += gart_shuffle_xor(total[h], 1);
      total[h] += gart_shuffle_xor(total[h], 2);
    }
  }
  /// Divides the sums of values by the sum of weights.
  template <int Count>
  void divide(float (&sums)[Count]) const {
    const float factors[2] = {1.0f / total[0], 1.0f / total[1]};
#pragma unroll
    for (int i = 0; i < Count; ++i) sums[i] *= factors[i % 4 / 2];
  }
};

/// Bytes of staging memory per warp: 16 rows of 64 columns of 16 bits.
constexpr int kGartStagingBytes = 2048;

/// Stores `lines` rows (at most 16) of a warp's sums as 16-bit floats, 16 bytes per lane and access. at(line, column)
/// returns the destination.
template <class Half, int Columns, int Count, class At>
void gart_store_rows(unsigned char* staging, const float (&sums)[Count], int lines, const At& at) {
  const int lane = threadIdx.x % 32, line = lane % 16;
#pragma unroll
  for (int c = 0; c < Columns; c += 64) {
#pragma unroll
    for (int j = 0; j < 64 && c + j < Columns; j += 16) {
      unsigned int pairs[4];
#pragma unroll
      for (int p = 0; p < 4; ++p) {
        const int i = (c + j) / 2 + p * 2;
        pairs[p] = i < Count ? Half::pack(sums[i], sums[i + 1]) : 0u;
      }
      gart_store_matrices(staging + line * 128 + (((j / 8 + lane / 16) ^ line % 8) << 4), pairs[0], pairs[1], pairs[2], pairs[3]);
    }
    __syncwarp();
#pragma unroll
    for (int first = 0; first < 16; first += 4) {
      const int here = first + lane / 8, chunk = lane % 8, column = c + chunk * 8;
      if (here < lines && column < Columns)
        gart_store(at(here, column), gart_load<8>(reinterpret_cast<const unsigned short*>(staging + here * 128 +
                                                                                          ((chunk ^ here % 8) << 4))));
    }
    __syncwarp();
  }
}

#endif
