// The plan of a convolution by Winograd's algorithm: its tasks. No code is emitted here.
//
// A task takes some tiles of an image. It transforms their inputs, of all channels, into scratch memory. Then, for each
// group of output channels, it computes every product, a matrix product of tiles by channels, and transforms the sums
// back. All sizes are in floats.
#pragma once

#include <cstdint>

#include "codegen/cpu/llvm/cpu_target.h"
#include "compiler/kernel/kernel.h"

namespace gcg::cpu {

struct WinogradPlan {
  int64_t lanes = 0;         // of a vector
  int64_t group_blocks = 1;  // channel blocks (of 16) per full group of output channels
  int64_t groups = 1;
  int64_t vectors = 1;          // of a full group
  int64_t last_vectors = 1;     // vectors of the last group, which may have fewer channels
  int64_t tile_pixels = 1;      // tiles in a register tile of the matrix product
  int64_t last_pixels() const;  // the same for a smaller register tile, for the remaining tiles
  int64_t tiles = 1;            // of a task
  int64_t padded_tiles = 1;     // number of tiles, rounded up to whole register tiles
  int64_t groups_per_task = 1;
  Dim tile_columns, tile_count, tile_blocks, tasks;  // tile_count: of an image
  int64_t group_tasks = 1;

  // Scratch memory of a thread: inputs [unit][product][padded_tiles][16], sums [product][padded_tiles][vector][lane],
  // outputs of a tile [row][column][lane].
  int64_t sums_at = 0, outputs_at = 0, scratch = 0;
};

/// Requires conv.winograd > 0.
WinogradPlan plan_winograd(const ConvKernel& conv, const CpuTarget& target);

}  // namespace gcg::cpu
