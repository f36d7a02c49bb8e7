// The cluster tiles that a product may use, and their expected time.
#include <algorithm>
#include <array>
#include <cmath>

#include "codegen/cuda/contractions/cluster_product.h"
#include "compiler/kernel/access_analysis.h"
#include "compiler/kernel/machine.h"
#include "compiler/kernel/typical_extent.h"

namespace gcg::cuda {
namespace {

constexpr int kStep = 64;  // depths of a box
constexpr std::array kSplits = {1, 2, 4, 8};

/// Tile shapes that were assembled without spills. With these, each block has a multiprocessor to itself.
struct Shape {
  int rows, columns, stages, depths;  // depths: the depth of a stage
};
constexpr std::array kShapes = {Shape{64, 64, 6, 2}, Shape{64, 128, 6, 1}, Shape{128, 128, 6, 1}, Shape{128, 64, 8, 1},
                                Shape{64, 32, 8, 2}, Shape{64, 16, 5, 4},  Shape{64, 8, 5, 4}};

/// The cost model was fitted to 55 pairs of shapes and tiles measured on an H200; most of them are within 10 %. The
/// time to copy a box is limited by the rate of one multiprocessor, and by the rate of all of them together.
double microseconds(const Machine& gpu, const ProductTile& t, const ProductSize& size) {
  constexpr double kStart = 2.0, kTileEnd = 0.14e-3;  // microseconds; per sum
  constexpr double kAlone = 77, kTogether = 26;
  // Microseconds to add the sums of a cluster, by its number of blocks.
  static constexpr std::array kMeeting = {0.0, 0.8, 1.05, 1.6};
  const double lines = t.is_swapped ? size.columns : size.rows, others = t.is_swapped ? size.rows : size.columns;
  const double tiles = std::ceil(lines / t.rows) * std::ceil(others / t.columns) * size.batch;
  const double blocks = std::max(1.0, tiles * t.splits), waves = std::ceil(blocks / gpu.processors);
  const double stages = std::ceil(std::ceil(size.depth / t.depth) / t.splits);
  const double depth = stages * t.depth, sums = double{1} * t.rows * t.columns;
  const double bytes_per_clock =
      std::min(kAlone, kTogether * gpu.processors / std::min<double>(blocks, gpu.processors));
  const double copies = 2 * depth * (t.rows + t.columns) / bytes_per_clock;
  const double products = sums * depth / (gpu.warpgroup_rate * 0.92);
  const double body = waves * (std::max(copies, products) / gpu.gigahertz * 1e-3 + kTileEnd * sums);
  const double bytes = size.batch * (size.rows * size.left_bytes + size.columns * size.right_bytes) * size.depth +
                       size.batch * size.result_bytes * size.rows * size.columns;
  const auto meeting = std::find(kSplits.begin(), kSplits.end(), t.splits) - kSplits.begin();
  return kStart + kMeeting[static_cast<size_t>(meeting)] + std::max(body, 1.07 * bytes / gpu.bytes_per_second * 1e6);
}

/// True if the left or right operand (`left`) can be copied as boxes of `lines` lines.
bool fits_boxes(const Product& product, bool left, int lines) {
  return (left ? product.left : product.right).along_depth || lines % kStep == 0;
}

/// True if the operand holds windows. Boxes past the last tap then hold other pixels instead of zeros.
bool has_windows(const Product& product) { return product.tma_view(true)->window || product.tma_view(false)->window; }

bool fits(const Target& target, const Product& product) {
  const Arithmetic arithmetic = arithmetic_of(target);
  const auto is_kept = [&](bool left) {
    const auto view = product.tma_view(left);
    return view && conversion_of(view->stored, arithmetic).is_kept;
  };
  return target.name == "sm_90a" && is_half(arithmetic) && is_kept(true) && is_kept(false) &&
         product.whole_steps % kStep == 0;
}

}  // namespace

std::vector<ProductTile> cluster_tiles(const Kernel& kernel, const Target& target, const Product& product,
                                       size_t most) {
  std::vector<ProductTile> all;
  if (!fits(target, product)) return all;
  const ProductSize size = size_for_cost(kernel, product);
  for (const Shape& s : kShapes)
    for (const bool swapped : {false, true})
      for (const int splits : kSplits) {
        ProductTile t{arithmetic_of(target), s.rows, s.columns, kStep * s.depths, s.rows / 16, 1, 1, s.columns / 8};
        t.stages = s.stages;
        t.splits = splits;
        t.mma = Mma::wgmma_cluster;
        t.is_swapped = swapped;
        t.producers = kWarpThreads;
        // Swapped tiles store elements one by one. They are faster for few rows, because they do not pad rows to 64.
        if (swapped && (s.columns > 64 || size.rows > s.columns || size.columns <= size.rows)) continue;
        if (!swapped && s.columns < 64 && size.columns > s.columns) continue;
        if (!fits_boxes(product, !swapped, s.rows) || !fits_boxes(product, swapped, s.columns)) continue;
        if (splits > 1 && std::ceil(size.depth / t.depth) < splits) continue;
        if (has_windows(product) && !is_multiple(product.depth, t.depth)) continue;
        t.microseconds = microseconds(machine_of(target), t, size);
        all.push_back(t);
      }
  std::stable_sort(all.begin(), all.end(), [](const ProductTile& a, const ProductTile& b) {
    return std::llround(a.microseconds * 1000) < std::llround(b.microseconds * 1000);
  });
  if (all.size() > most) all.resize(most);
  return all;
}

std::vector<ProductTile> candidate_tiles(const Kernel& kernel, const Target& target, const Product& product,
                                         size_t most) {
  constexpr size_t kMostClusters = 6;
  std::vector<ProductTile> clusters = cluster_tiles(kernel, target, product, std::min(kMostClusters, most / 2));
  std::vector<ProductTile> all = best_product_tiles(target, size_for_cost(kernel, product),
                                                    constraints_of(product, target), most - clusters.size());
  all.insert(all.end(), clusters.begin(), clusters.end());
  std::stable_sort(all.begin(), all.end(),
                   [](const ProductTile& a, const ProductTile& b) { return a.microseconds < b.microseconds; });
  return all;
}

}  // namespace gcg::cuda
