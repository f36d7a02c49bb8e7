// The plan of a convolution: its register tiles, groups of output channels and tasks. No code is emitted here.
//
// Tiles cover an output row of one group of channels. In a tile, `pixels` neighbouring outputs times `vectors` vectors
// of output channels stay in registers over the whole reduction. If the row length is known, so are the columns that a
// tile may read. A tile at the left or right border omits the multiply-adds of the (pixel, kw) pairs that fall outside
// the map. Equal tiles share code (a segment). The kernel's rows are clipped at run time instead: they are loop bounds.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "codegen/cpu/contractions/dot_product.h"
#include "codegen/cpu/llvm/cpu_target.h"
#include "compiler/kernel/kernel.h"

namespace gcg::cpu {

/// Taps [tap, tap + count) of the kernel along one axis. They read inside the map for exactly the positions [first,
/// last) of a tile.
struct KernelTaps {
  int64_t tap = 0, count = 0;
  int64_t first = 0, last = 0;
  friend bool operator==(const KernelTaps&, const KernelTaps&) = default;
};

/// A tile along one axis of the output. Its taps are in ascending order, without those that read nothing.
struct TileAxis {
  int64_t positions = 1;
  std::vector<KernelTaps> taps;
  friend bool operator==(const TileAxis&, const TileAxis&) = default;
};

/// `tiles` neighbouring equal tiles. Tiles are numbered along the axis.
struct TileSegment {
  int64_t first_tile = 0, tiles = 0;
  int64_t first_position = 0;
  TileAxis tile;
};

/// Pixels are numbered row by row.
struct TileShape {
  TileAxis rows, columns;
  int64_t pixels() const { return rows.positions * columns.positions; }
};

struct ConvPlan {
  Multiply multiply = Multiply::floats;
  int64_t word_bytes = 4;  // bytes of a weights' word: VNNI groups, or floats in memory
  /// True for pairs, also of bf16: each thread converts the part of the image that it reads, and the panel of its group
  /// of channels.
  bool widens() const { return multiply == Multiply::pairs || multiply == Multiply::halves; }
  int64_t widened_image = 0, widened_panel = 0;  // words
  int64_t lanes = 0;                             // f32 lanes of a vector register
  /// A pointwise convolution without borders treats the whole map as one row.
  bool flat = false;
  /// True for a map of unknown size whose taps are so far apart that all pixels may miss the same ones. If they do, the
  /// map is treated as one row.
  bool may_become_flat = false;
  Dim rows, row_pixels;      // rows and pixels per row of the output, per plane
  int64_t group_blocks = 1;  // channel blocks (of 16) per full group of output channels
  int64_t groups = 1;
  int64_t vectors = 1;           // vectors per tile of a full group
  int64_t last_vectors = 1;      // vectors per tile of the last group, which may have fewer channels
  int64_t tile_pixels = 1;       // pixels of the largest tile, along the row
  int64_t largest_tile() const;  // pixels
  int64_t taps_together = 1;     // taps of a kernel row whose weights a depthwise tile holds at a time
  /// The row's tiles. Empty if the row's length, or the columns that it may read, are symbolic.
  std::vector<TileSegment> column_tiles;
  /// On a small map: tiles of several whole rows. Empty: a tile has one row, and its kernel rows are clipped at run
  /// time.
  std::vector<TileSegment> row_tiles;
  Dim row_steps;  // number of row tiles, or of rows

  int64_t rows_per_task = 1;   // in row_steps
  int64_t tiles_per_task = 0;  // 0: whole rows
  Dim row_blocks, tile_blocks, tasks;
  /// A region is a task's part of the map: image, plane, block of rows and block of tiles; the last varies fastest.
  /// This is the number of regions that one group of channels covers before the next group starts. 1: all groups of a
  /// region follow each other. Nullopt: each group covers all regions.
  std::optional<int64_t> regions_together = 1;
  Dim regions(const ConvKernel& kernel) const { return kernel.batch * kernel.out_depth * row_blocks * tile_blocks; }
  /// Units of the depth (as PackedWeights counts them) per pass, if a panel does not stay in a near cache. Such a panel
  /// is read once per task, in passes over the depth. Meanwhile the sums of all the task's tiles wait in scratch
  /// memory. 0: each tile reduces the whole depth at once.
  int64_t units_per_pass = 0;
  Dim scratch_bytes() const;  // per thread
  /// Lines of the next group's weights that each tile prefetches into L2, per 16 x (16*group_blocks) block of weights.
  int64_t prefetch_lines = 0;
  int64_t prefetching_tiles = 0;  // number of tiles that together prefetch a whole block; in a symbolic row, the
                                  // same number of further tiles fetches the same lines again

  bool symbolic_row() const { return column_tiles.empty(); }
};

/// Requires a verified kernel. `flat_allowed`: the epilogue and the store use rows and columns of the map only as row *
/// width + column. `weights`: the weights' type in memory.
ConvPlan plan_conv(const ConvKernel& kernel, const CpuTarget& target, bool flat_allowed, DType weights = DType::f32);

/// True if every pixel reads one pixel of its plane, and neighbouring pixels read neighbouring ones.
bool is_pointwise(const ConvKernel& kernel);

/// True if AMX is worth it (conv_tiled.h): 2-D, one group, and enough pixels to fill tiles.
bool fills_tiles(const ConvKernel& kernel);

/// Covers a run of pixels, whose number is known at run time, by tiles of a few sizes. The last `remainder(pixels)`
/// pixels, fewer than two of the largest tiles, are covered by counts[i][remainder] tiles of sizes[i].
struct RunCover {
  static constexpr int count_bits = 2;  // bits of a count; the counts for one size are one 64-bit integer
  std::vector<int64_t> sizes;           // largest first; the last size is 1
  std::vector<uint64_t> counts;         // per size: bits [2 r, 2 r + 2) are the number of tiles for remainder r
};

/// The cheapest cover. A tile with few accumulators is assumed to take as long as the latency of its multiply-adds.
RunCover cover_run(int64_t largest_tile, int64_t vectors);

/// One axis of a convolution.
struct ConvAxis {
  int64_t in = 0, out = 0, kernel = 1, stride = 1, dilation = 1, pad = 0;
};

/// The tile of outputs [first, first + positions).
TileAxis tile_at(const ConvAxis& axis, int64_t first, int64_t positions);

/// Covers the axis with the fewest tiles of at most `positions`, all nearly equal.
std::vector<TileSegment> cover_axis(const ConvAxis& axis, int64_t positions);

}  // namespace gcg::cpu
