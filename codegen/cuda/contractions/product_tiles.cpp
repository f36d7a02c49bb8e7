// The tile shapes of each target.
#include <algorithm>
#include <array>

#include "codegen/cuda/contractions/product_cost.h"

namespace gcg::cuda {
namespace {

/// Tile shapes that were assembled without spills. Their registers leave room for `blocks` blocks on one
/// multiprocessor.
struct Shape {
  int rows, columns, warp_rows, warp_columns, rows_each, columns_each, blocks;
};
constexpr std::array kScalar = {
    Shape{128, 128, 4, 2, 8, 8, 1}, Shape{128, 64, 4, 1, 8, 8, 2}, Shape{64, 128, 2, 2, 8, 8, 2},
    Shape{64, 64, 2, 2, 8, 4, 3},   Shape{32, 64, 2, 2, 4, 4, 5},  Shape{64, 32, 4, 1, 4, 4, 5},
    Shape{32, 32, 2, 1, 4, 4, 8},   Shape{16, 64, 1, 2, 4, 4, 8},
};
constexpr std::array kTensor = {
    Shape{128, 128, 2, 4, 4, 4, 1}, Shape{128, 64, 2, 2, 4, 4, 2}, Shape{64, 128, 2, 2, 2, 8, 2},
    Shape{64, 64, 2, 2, 2, 4, 3},   Shape{32, 64, 1, 4, 2, 2, 4},  Shape{64, 32, 2, 2, 2, 2, 4},
    Shape{32, 32, 2, 2, 1, 2, 5},   Shape{16, 64, 1, 4, 1, 2, 5},  Shape{64, 16, 4, 1, 1, 2, 5},
    Shape{16, 128, 1, 4, 1, 4, 4},
};

/// Warpgroup tiles: rows, columns, warpgroups, blocks. Tiles of 256 columns are not split: a split may have no step,
/// and ptxas then moves so many sums that it serialises the products.
struct WideShape {
  int rows, columns, groups, blocks;
};
constexpr std::array kWide = {WideShape{64, 64, 1, 4},   WideShape{64, 128, 1, 3}, WideShape{128, 64, 2, 2},
                              WideShape{128, 128, 2, 2}, WideShape{64, 256, 1, 2}, WideShape{128, 256, 2, 1}};
/// Shapes of the tile loop: a block has a multiprocessor to itself.
constexpr std::array kLoop = {WideShape{64, 64, 1, 1},   WideShape{64, 128, 1, 1},  WideShape{64, 256, 1, 1},
                              WideShape{128, 64, 2, 1},  WideShape{128, 128, 2, 1}, WideShape{128, 192, 2, 1},
                              WideShape{128, 256, 2, 1}, WideShape{192, 128, 3, 1}};
constexpr int kWideDepth = 64;
/// Shapes of the tile loop for f32 (device/gart_f32_loop.cuh).
constexpr std::array kF32Loop = {WideShape{128, 128, 2, 1}, WideShape{128, 64, 2, 1}};
constexpr int kF32Depth = 32;
constexpr int kBoxBytes = 64 * 128;  // of results

/// True if tiles of this depth can be copied, with registers that do not spill.
bool takes_depth(const Target& target, Arithmetic arithmetic, const TileConstraints& constraints, int depth) {
  const int64_t whole = constraints.whole_steps;
  if (!is_half(arithmetic)) return depth == 16 || (depth == 32 && whole % 32 == 0 && !constraints.divides);
  if (depth == 16) return whole % 32 != 0;  // lines of 32 bytes only help if longer ones would be cut
  if (depth == 64 && (constraints.is_held || !machine_of(target).has_async_copies)) return false;
  return whole % depth == 0;
}

/// True if the shape, as assembled, leaves registers for the divisions that find an element.
bool leaves_room(Arithmetic arithmetic, const Shape& s) {
  if (arithmetic == Arithmetic::tf32x3) return s.rows_each * s.columns_each < 16;
  return !is_half(arithmetic) || s.columns_each < 4 || s.rows_each > 1;
}

std::vector<ProductTile> shapes(const Target& target, const TileConstraints& constraints) {
  const Arithmetic arithmetic = arithmetic_of(target);
  std::vector<ProductTile> all;
  const auto add = [&](const Shape& s) {
    if (constraints.divides && !leaves_room(arithmetic, s)) return;
    for (int depth : {16, 32, 64}) {
      if (!takes_depth(target, arithmetic, constraints, depth)) continue;
      // Each value takes two registers, so more than one k-step of large fragments at a time would spill.
      if (arithmetic == Arithmetic::tf32x3 && s.rows_each * s.columns_each >= 16 && depth > 16) continue;
      ProductTile t{arithmetic, s.rows, s.columns, depth, s.warp_rows, s.warp_columns, s.rows_each, s.columns_each};
      t.mma = arithmetic == Arithmetic::scalar ? Mma::scalar : Mma::mma_sync;
      // Without asynchronous copies, registers also hold the next tile.
      t.blocks = machine_of(target).has_async_copies ? s.blocks : std::min(s.blocks, 4);
      if (constraints.divides || (constraints.gathers && arithmetic == Arithmetic::tf32x3))
        t.blocks -= (t.blocks + 1) / 3;
      // 128 registers hold two k-steps of fragments, but not the bounds checks of a depth that ends within a step as
      // well.
      if (arithmetic == Arithmetic::tf32x3 && s.rows == 32 && s.columns == 64 && depth == 32)
        t.blocks = std::min(t.blocks, 3);
      all.push_back(t);
    }
  };
  if (arithmetic == Arithmetic::scalar)
    std::for_each(kScalar.begin(), kScalar.end(), add);
  else
    std::for_each(kTensor.begin(), kTensor.end(), add);
  return all;
}

/// The tiles for warpgroups; none if the target has no warpgroup products.
std::vector<ProductTile> wide_shapes(const Target& target, const TileConstraints& constraints) {
  const Arithmetic arithmetic = arithmetic_of(target);
  std::vector<ProductTile> all;
  if (target.name != "sm_90a" || !is_half(arithmetic) || constraints.divides ||
      constraints.whole_steps % kWideDepth != 0)
    return all;
  const auto add = [&](const WideShape& s) {
    if (constraints.is_held && s.columns > 128) return;  // registers
    ProductTile t{arithmetic, s.rows, s.columns, kWideDepth, 4 * s.groups, 1, 1, s.columns / 8};
    t.blocks = constraints.is_held ? 2 / s.groups : s.blocks;
    t.mma = Mma::wgmma;
    all.push_back(t);
  };
  std::for_each(kWide.begin(), kWide.end(), add);
  return all;
}

/// Tiles of the tile loop, with as many stages as fit shared memory.
std::vector<ProductTile> loop_shapes(const Target& target, const TileConstraints& constraints) {
  const Machine& gpu = machine_of(target);
  const Arithmetic arithmetic = arithmetic_of(target);
  std::vector<ProductTile> all;
  if (target.name != "sm_90a" || !constraints.has_tma_views) return all;
  const auto add = [&](const WideShape& s) {
    const bool is_f32 = arithmetic == Arithmetic::tf32x3;
    ProductTile t{arithmetic, s.rows, s.columns, is_f32 ? kF32Depth : kWideDepth, 4 * s.groups, 1, 1, s.columns / 8};
    t.mma = Mma::wgmma_tma;
    t.producers = is_f32 ? 256 : 128;
    t.grid = gpu.processors;
    for (t.stages = 12; t.stages >= 3; --t.stages) {
      if (shared_bytes(t, constraints) > gpu.shared_block_bytes) continue;
      all.push_back(t);
      break;
    }
  };
  if (is_half(arithmetic))
    std::for_each(kLoop.begin(), kLoop.end(), add);
  else if (arithmetic == Arithmetic::tf32x3)
    std::for_each(kF32Loop.begin(), kF32Loop.end(), add);
  return all;
}

}  // namespace

bool reads_boxes(const ProductTile& t, const TileConstraints& constraints) {
  constexpr int kMostBoxes = 4;
  return constraints.reads_boxes && t.splits == 1 && t.columns * constraints.box_bytes / 128 <= kMostBoxes;
}

int boxes_of(const ProductTile& t, const TileConstraints& constraints) {
  if (t.splits > 1 || constraints.box_bytes == 0) return 0;
  const int all = t.columns * constraints.box_bytes / 128;
  return reads_boxes(t, constraints) ? all : std::min(all, 2);
}

int box_sets(const ProductTile& t, const TileConstraints& constraints) {
  constexpr int kMostOfTwoSets = 2;  // more boxes would leave too few stages
  return reads_boxes(t, constraints) && boxes_of(t, constraints) <= kMostOfTwoSets ? 2 : 1;
}

int64_t shared_bytes(const ProductTile& t, const TileConstraints& constraints) {
  const int groups = t.warp_rows / 4;
  const bool has_rests = t.is_wide() && t.arithmetic == Arithmetic::tf32x3;
  const int sets = groups * box_sets(t, constraints), barriers = (has_rests ? 3 : 2) * t.stages + sets;
  const int loop = t.has_boxes() ? sets * boxes_of(t, constraints) * kBoxBytes + barriers * int{sizeof(uint64_t)} : 0;
  if (t.is_wide()) return int64_t{128} * t.stages * (t.rows + (has_rests ? 2 : 1) * t.columns) + loop;
  const int element = element_bytes(t.arithmetic);
  const auto elements = [&](int rows, bool along_depth) {
    return along_depth ? rows * (t.depth + 16 / element) : t.depth * (rows + 8);
  };
  return int64_t{element} * t.stages *
         (elements(t.rows, constraints.left_along_depth) + elements(t.columns, constraints.right_along_depth));
}

std::vector<ProductTile> product_tiles(const Target& target, const TileConstraints& constraints) {
  const Machine& gpu = machine_of(target);
  const int most_stages = gpu.has_async_copies ? 5 : 2;
  std::vector<ProductTile> tiles;
  for (ProductTile t : shapes(target, constraints))
    for (t.stages = 2; t.stages <= most_stages; ++t.stages)
      if (shared_bytes(t, constraints) <= gpu.shared_block_bytes) tiles.push_back(t);
  for (const ProductTile& t : loop_shapes(target, constraints)) tiles.push_back(t);
  for (ProductTile t : wide_shapes(target, constraints))
    for (t.stages = 3; t.stages <= 6; ++t.stages)
      if (shared_bytes(t, constraints) <= gpu.shared_block_bytes) tiles.push_back(t);
  return tiles;
}

}  // namespace gcg::cuda
