// How a convolution is cut into register tiles, groups of output channels and tasks. No code is emitted here.
//
// An output row of one group of channels is covered by tiles: `pixels` neighbouring outputs times `vectors` vectors of
// output channels stay in registers over the whole reduction. The columns a tile may read are known when the row length
// is: a tile at the left or right border simply lacks the multiply-adds of the (pixel, kw) pairs that fall outside the
// map. Tiles alike share code (a segment). The rows of the kernel are clipped at run time instead: they are loop
// bounds.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "codegen/cpu/cpu_target.h"
#include "compiler/kernel/kernel.h"

namespace gcg::cpu {

/// Kernel columns [kw, kw + count) that read inside the map for exactly the tile's pixels [first, last).
struct KernelColumns {
  int64_t kw = 0, count = 0;
  int64_t first = 0, last = 0;
  friend bool operator==(const KernelColumns&, const KernelColumns&) = default;
};

struct TileShape {
  int64_t pixels = 0;
  std::vector<KernelColumns> columns;  // ascending; columns that read nothing are left out
  friend bool operator==(const TileShape&, const TileShape&) = default;
};

/// `tiles` neighbouring tiles of one shape. Tiles are numbered along the row.
struct TileSegment {
  int64_t first_tile = 0, tiles = 0;
  int64_t first_pixel = 0;
  TileShape shape;
};

struct ConvPlan {
  int64_t lanes = 0;  // f32 lanes of a vector
  /// A pointwise convolution without borders sees the whole map as one row.
  bool flat = false;
  Dim rows, row_pixels;      // of the output, per image
  int64_t group_blocks = 1;  // channel blocks (of 16) per full group; depthwise: 1
  int64_t groups = 1;
  int64_t last_group_blocks = 1;
  int64_t vectors = 1;      // per tile of a full group
  int64_t tile_pixels = 1;  // of the largest tile
  /// The row's tiles; empty when its length or the columns it may read are symbolic.
  std::vector<TileSegment> segments;

  int64_t rows_per_task = 1;
  int64_t tiles_per_task = 0;  // 0: whole rows
  Dim row_blocks, tile_blocks, tasks;
  /// Task order, slowest first: group, image, rows (true), or image, rows, group (false).
  bool groups_outer = false;
  /// Lines of the next group's weights that each tile brings into L2, per 16 x (16*group_blocks) block of weights.
  int64_t prefetch_lines = 0;

  bool symbolic_row() const { return segments.empty(); }
};

/// Requires a verified kernel. `flat_allowed`: the epilogue and the store see rows and columns of the map only as the
/// place row * width + column.
ConvPlan plan_conv(const ConvKernel& kernel, const CpuTarget& target, bool flat_allowed);

/// Covers a row of `row_pixels` outputs with the fewest tiles of at most `tile_pixels`, all nearly equal.
std::vector<TileSegment> cover_row(const ConvKernel& kernel, int64_t row_pixels, int64_t tile_pixels);

}  // namespace gcg::cpu
