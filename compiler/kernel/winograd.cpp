#include "compiler/kernel/winograd.h"

#include <algorithm>
#include <cmath>

#include "compiler/kernel/packing.h"
#include "compiler/kernel/typical_extent.h"
#include "compiler/support/error.h"

namespace gcg {
namespace {

using Row = std::vector<double>;

/// The `size` coefficients of the product of (x - p) over all points p except number `except`; the lowest coefficient
/// comes first.
Row product_of_roots(const Row& points, size_t except, size_t size) {
  Row p(size);
  p[0] = 1;
  for (size_t i = 0; i < points.size(); ++i) {
    if (i == except) continue;
    for (size_t k = size - 1; k > 0; --k) p[k] = p[k - 1] - points[i] * p[k];
    p[0] *= -points[i];
  }
  return p;
}

/// 1, p, p^2, ... divided by `scale`.
Row powers(double p, int64_t count, double scale = 1) {
  Row row;
  for (int64_t k = 0; k < count; ++k) row.push_back(std::pow(p, static_cast<double>(k)) / scale);
  return row;
}

WinogradVariant make_form(int64_t tile, const Row& points) {
  WinogradVariant variant;
  variant.tile = tile;
  const auto side = static_cast<size_t>(variant.side());
  GCG_CHECK(points.size() + 1 == side, "F(", tile, ", 3) on ", points.size(), " points");
  variant.output.assign(static_cast<size_t>(tile), Row(side));
  for (size_t i = 0; i < side; ++i) {
    const bool infinite = i == points.size();
    double scale = 1;
    for (size_t j = 0; j < points.size(); ++j)
      if (!infinite && j != i) scale *= points[i] - points[j];
    variant.input.push_back(product_of_roots(points, i, side));
    variant.weights.push_back(infinite ? Row{0, 0, 1} : powers(points[i], kWinogradKernel, scale));
    const Row column = infinite ? Row() : powers(points[i], tile);
    for (size_t k = 0; k < variant.output.size(); ++k)
      variant.output[k][i] = infinite ? (k + 1 == variant.output.size() ? 1 : 0) : column[k];
  }
  return variant;
}

// Costs on a core with two multiply-adds of 16 floats per clock. Cycles per byte: reading weights from memory in every
// run (kReadCycles), and the penalty for a larger file (kStoreCycles). Cycles per product: the transforms of one block
// of channels (kInputCycles, kOutputCycles). Starting a product's sums costs as much as this many channels
// (kBeginChannels).
constexpr double kReadCycles = 0.14, kStoreCycles = 0.21;
constexpr double kInputCycles = 11, kOutputCycles = 9, kBeginChannels = 8;

double memory_cycles(double products, double channels) { return 4 * products * channels * kStoreCycles; }

}  // namespace

const WinogradVariant& winograd_variant(int64_t tile) {
  GCG_CHECK(tile == 2 || tile == 4, "F(", tile, ", 3)");
  static const WinogradVariant two = make_form(2, {0, 1, -1});
  static const WinogradVariant four =
      make_form(4, {0, std::sqrt(0.5), -std::sqrt(0.5), std::sqrt(2.0), -std::sqrt(2.0)});
  return tile == 2 ? two : four;
}

int64_t best_winograd_tile(int64_t in_channels, int64_t out_channels, const Dim& out_height, const Dim& out_width) {
  const auto blocks = [](int64_t channels) { return static_cast<double>(blocks_of(channels, kChannelBlock)); };
  const double height = typical(out_height, kTypicalSide), width = typical(out_width, kTypicalSide);
  const double channels = static_cast<double>(in_channels * out_channels);
  const auto total = [&](double work, double products) {
    return std::max(work, 4 * products * channels * kReadCycles) + memory_cycles(products, channels);
  };
  constexpr double taps = kWinogradKernel * kWinogradKernel;
  double least = total(taps * height * width * static_cast<double>(in_channels) * blocks(out_channels) / 2, taps);
  int64_t best = 0;
  for (const int64_t tile : {4, 2}) {
    const double products = static_cast<double>(winograd_variant(tile).products()), m = static_cast<double>(tile);
    const double tiles = std::ceil(height / m) * std::ceil(width / m);
    const double moved = kInputCycles * blocks(in_channels) + kOutputCycles * blocks(out_channels);
    const double work =
        products * tiles * ((static_cast<double>(in_channels) + kBeginChannels) * blocks(out_channels) / 2 + moved);
    if (const double cost = total(work, products); cost < least) least = cost, best = tile;
  }
  return best;
}

}  // namespace gcg
