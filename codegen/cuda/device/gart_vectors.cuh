// Products of up to 16 lines (the "few" operand) with a matrix whose lines run along the depth (the "many" operand).
// Both have 16-bit elements. Tensor cores multiply them directly from registers: each element of the many operand is
// read once, 16 bytes at a time, and does not pass through shared memory.
//
// A warp takes 16 lines of the many operand, and every Warps-th piece of 64 depths. Lane (g, t) reads 8 depths from 8t
// on, and 8 depths from 32 + 8t on, of lines g and g + 8. So a warp reads 128 neighbouring bytes of 16 lines. Depths
// may be multiplied in any order if both factors agree, so the few operand is read in the same order. A block processes
// one tile of 16 lines after the other. It loads the first elements of the next tile while it adds the sums of the
// current one.
#pragma once

#include "gart_dot.cuh"
#include "gart_fragment.cuh"
#include "gart_half_pairs.cuh"

#if __CUDA_ARCH__ >= 800
typedef gart_vector<unsigned int, 4> gart_words;

/// Loads eight depths of a line, from `from` on, Vector elements per access.
template <class Kind, class Lines, int Vector>
gart_words gart_read_factors(const Lines& lines, const typename Lines::Source* from) {
  typedef typename Lines::Source Source;
  gart_words v;
  Source all[8];
#pragma unroll
  for (int i = 0; i < 8; i += Vector) {
    const auto part = Lines::template read<Vector, (Vector > 1)>(from + i * lines.depth_stride, lines.depth_stride);
#pragma unroll
    for (int e = 0; e < Vector; ++e) all[i + e] = part.at[e];
  }
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    if constexpr (Lines::Conversion::kIsKept) v.at[i] = all[2 * i] | (unsigned int)all[2 * i + 1] << 16;
    else v.at[i] = Kind::pack(all[2 * i], all[2 * i + 1]);
  }
  return v;
}

/// Calls finish(line of few, line of many, sum) once for each sum of the Few lines with the 16 lines of each of the
/// tiles first_tile, first_tile + stride, ... All threads of the block's Warps warps must call it. Whole: the depth is
/// a multiple of 64; otherwise it is a multiple of 8. Ahead: no launch writes the many operand. FewVector: depths of
/// the few operand per access. `shared`: 2 * Warps * 16 * Few floats.
template <class Kind, int Few, int Warps, int Unroll, int FewVector, bool Whole, bool Ahead, class FewLines, class ManyLines, class Finish>
void gart_multiply_vectors(const FewLines& few, const ManyLines& many, int depth, int first_tile, int stride, float* shared,
                           const Finish& finish) {
  typedef typename FewLines::Source FewSource;
  constexpr int kHalves = (Few + 7) / 8, kPiece = 64, kNext = Warps * kPiece;
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, g = lane / 4, t = lane % 4;
  const int pieces = (depth + kPiece - 1) / kPiece, tiles = (many.lines + 15) / 16;
  const int rounds = (pieces + Warps * Unroll - 1) / (Warps * Unroll);  // in a round, each warp multiplies Unroll pieces
  // This lane's first depth in its first piece.
  const int first = warp * kPiece + t * 8;

  gart_words weights[Unroll][2][2], factors[Unroll][kHalves][2];
#pragma unroll
  for (int i = 0; i < Unroll; ++i)
#pragma unroll
    for (int b = 0; b < 2; ++b)
#pragma unroll
      for (int e = 0; e < 4; ++e) {
        weights[i][0][b].at[e] = weights[i][1][b].at[e] = 0;
#pragma unroll
        for (int h = 0; h < kHalves; ++h) factors[i][h][b].at[e] = 0;  // stays zero for lines that do not exist
      }
  // The round that is read next: its tile, its number within the tile, and its first depth.
  int tile_ahead = first_tile, round_ahead = 0, depth_ahead = first;
  const unsigned short* lines[2];
  const auto seek = [&] {
#pragma unroll
    for (int r = 0; r < 2; ++r)
      lines[r] = many.at + (long long)gart_min(tile_ahead * 16 + r * 8 + g, many.lines - 1) * many.line_stride;
  };
  const auto advance = [&] {
    depth_ahead += Unroll * kNext;
    if (++round_ahead < rounds) return;
    round_ahead = 0;
    depth_ahead = first;
    tile_ahead += stride;
    if (tile_ahead < tiles) seek();
  };
  // True if this lane's depth `k` exists. If Whole, the piece exists for all lanes or for none, so all lanes get the
  // same answer.
  const auto exists = [&](int k) { return (Whole ? k - t * 8 : k) < depth; };
  const auto read_weights = [&](int i) {
    const int k = depth_ahead + i * kNext;
#pragma unroll
    for (int b = 0; b < 2; ++b) {
      if (tile_ahead >= tiles || !exists(Whole ? k : k + b * 32)) continue;
#pragma unroll
      for (int r = 0; r < 2; ++r) weights[i][r][b] = gart_load_once(lines[r] + k + b * 32);
    }
  };
  const auto read_factors = [&](int i) {
    const int k = depth_ahead + i * kNext;
#pragma unroll
    for (int b = 0; b < 2; ++b) {
      if (tile_ahead >= tiles || !exists(Whole ? k : k + b * 32)) continue;
#pragma unroll
      for (int h = 0; h < kHalves; ++h) {
        if (h * 8 + g >= Few) continue;
        const FewSource* from = few.at + (h * 8 + g) * few.line_stride + (k + b * 32) * few.depth_stride;
        factors[i][h][b] = gart_read_factors<Kind, FewLines, FewVector>(few, from);
      }
    }
  };

  if (!Ahead) gart_await_last_launch();
  seek();
#pragma unroll
  for (int i = 0; i < Unroll; ++i) read_weights(i);
  if (Ahead) gart_await_last_launch();
#pragma unroll
  for (int i = 0; i < Unroll; ++i) read_factors(i);
  advance();

  int part = 0;  // the half of `shared` in use; other threads may still read the half of the previous tile
#pragma unroll 1
  for (int tile = first_tile; tile < tiles; tile += stride) {
    float sums[kHalves][4] = {};
    int k = first;
#pragma unroll 1
    for (int round = 0; round < rounds; ++round, k += Unroll * kNext) {
#pragma unroll
      for (int i = 0; i < Unroll; ++i) {
        if (k - t * 8 + i * kNext < depth) {
#pragma unroll
          for (int b = 0; b < 2; ++b) {
            const bool kept = Whole || exists(k + i * kNext + b * 32);  // if not, the values are from an earlier piece
            gart_words upper = weights[i][0][b], lower = weights[i][1][b];
#pragma unroll
            for (int e = 0; e < 4; ++e) {
              if (!kept) upper.at[e] = lower.at[e] = 0;
            }
            const typename Kind::A a[2] = {{{upper.at[0], lower.at[0], upper.at[1], lower.at[1]}},
                                           {{upper.at[2], lower.at[2], upper.at[3], lower.at[3]}}};
#pragma unroll
            for (int h = 0; h < kHalves; ++h) {
              gart_words right = factors[i][h][b];
#pragma unroll
              for (int e = 0; e < 4; ++e) {
                if (!kept) right.at[e] = 0;
              }
#pragma unroll
              for (int s = 0; s < 2; ++s) Kind::add(sums[h], a[s], typename Kind::B{{right.at[2 * s], right.at[2 * s + 1]}});
            }
          }
        }
        read_weights(i);
        read_factors(i);
      }
      advance();
    }
    float* const partial = shared + part * (Warps * Few * 16);
    part ^= 1;
#pragma unroll
    for (int h = 0; h < kHalves; ++h)
#pragma unroll
      for (int e = 0; e < 4; ++e)
        if (h * 8 + 2 * t + e % 2 < Few) partial[(warp * Few + h * 8 + 2 * t + e % 2) * 16 + g + e / 2 * 8] = sums[h][e];
    __syncthreads();
    for (int i = threadIdx.x; i < 16 * Few; i += 32 * Warps) {
      float sum = 0.0f;
#pragma unroll
      for (int w = 0; w < Warps; ++w) sum += partial[w * Few * 16 + i];
      if (tile * 16 + i % 16 < many.lines) finish(i / 16, tile * 16 + i % 16, sum);
    }
  }
}
#endif
