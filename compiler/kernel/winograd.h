// Winograd's fast convolutions F(m x m, 3 x 3): a tile of m x m outputs is computed from (m+2) x (m+2) inputs with
// (m+2)^2 products instead of 9 m^2. With the matrices B, G and A of a tile, y = A' [ (G w G') * (B' x B) ] A, where *
// also sums over channels.
#pragma once

#include <cstdint>
#include <vector>

#include "compiler/ir/dim.h"

namespace gcg {

inline constexpr int64_t kWinogradKernel = 3;

struct WinogradVariant {
  using Matrix = std::vector<std::vector<double>>;  // rows

  int64_t tile = 0;  // outputs per side, m
  Matrix input;      // B': side x side
  Matrix weights;    // G: side x 3
  Matrix output;     // A': m x side

  int64_t side() const { return tile + kWinogradKernel - 1; }
  int64_t products() const { return side() * side(); }
};

/// The variant for 2 or 4 outputs per side, by Toom-Cook on symmetric points and infinity. For 4 the points are 0,
/// +-sqrt(1/2), +-sqrt(2). Rounding errors are then at most twice those of the direct sum. With the usual points 0,
/// +-1, +-2, the errors are four times as large.
const WinogradVariant& winograd_variant(int64_t tile);

/// The tile with which a 3x3 convolution of stride 1 takes the least time, including the reads of weights from memory.
/// 0: the direct sum is fastest. Symbolic extents count as kTypicalSide.
int64_t best_winograd_tile(int64_t in_channels, int64_t out_channels, const Dim& out_height, const Dim& out_width);

}  // namespace gcg
