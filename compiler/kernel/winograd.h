// Winograd's fast convolutions F(m x m, 3 x 3): a tile of m x m outputs from (m+2) x (m+2) inputs by that many products
// instead of 9 m^2. With B, G, A of a tile:  y = A' [ (G w G') * (B' x B) ] A,  summed over channels at the star.
#pragma once

#include <cstdint>
#include <vector>

#include "compiler/ir/dim.h"

namespace gcg {

inline constexpr int64_t kWinogradKernel = 3;

struct WinogradForm {
  using Matrix = std::vector<std::vector<double>>;  // rows

  int64_t tile = 0;  // outputs per side, m
  Matrix input;      // B': side x side
  Matrix weights;    // G: side x 3
  Matrix output;     // A': m x side

  int64_t side() const { return tile + kWinogradKernel - 1; }
  int64_t products() const { return side() * side(); }
};

/// Of 2 or 4 outputs per side, by Toom-Cook on points of which the others are negatives, and infinity. For 4 they are
/// 0, +-sqrt(1/2), +-sqrt(2): rounding errors are then within twice those of the sum itself, a fourth of what the usual
/// 0, +-1, +-2 give.
const WinogradForm& winograd_form(int64_t tile);

/// The tile by which a 3x3 convolution of stride 1 takes the least time, weights read from memory included; 0: none,
/// the sum itself does. Open extents count as those of an image of kTypicalSide.
int64_t best_winograd_tile(int64_t in_channels, int64_t out_channels, const Dim& out_height, const Dim& out_width);

}  // namespace gcg
