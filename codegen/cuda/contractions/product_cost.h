// Chooses the tiles of a matrix product with an analytic model of time per GPU.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "compiler/ir/dim.h"
#include "compiler/kernel/machine.h"

namespace gcg::cuda {

/// How factors are multiplied and summed.
enum class Arithmetic : uint8_t {
  scalar,  // f32 on CUDA cores
  tf32x3,  // f32 as two tf32 numbers each: three products on tensor cores
  tf32,
  f16,
  bf16,
};
const char* name_of(Arithmetic arithmetic);
/// True if factors have 16 bits.
inline bool is_half(Arithmetic a) { return a == Arithmetic::f16 || a == Arithmetic::bf16; }
/// Bytes of a factor in a tile.
inline int element_bytes(Arithmetic a) { return is_half(a) ? 2 : 4; }

/// The arithmetic for the target's precision. fp32 becomes tf32x3 where that is faster than CUDA cores: it is as
/// accurate (22 bits of each factor, f32 sums).
Arithmetic arithmetic_of(const Target& target);

/// The instructions that multiply a tile, and how its factors come to shared memory.
enum class Mma : uint8_t {
  scalar,         // multiply-adds on CUDA cores; threads copy
  mma_sync,       // tensor core instructions of a warp; threads copy
  wgmma,          // tensor core instructions of a warpgroup (device/gart_warpgroup.cuh); threads copy
  wgmma_tma,      // the same; producers request boxes of tensors (device/gart_tile_loop.cuh)
  wgmma_cluster,  // the same; the blocks of a cluster share the depth in splits (device/gart_cluster_sums.cuh)
};

struct MmaTraits {
  const char* note;        // in a kernel's note, after the arithmetic
  const char* header;      // file name in device/, for blocks that compute one tile
  bool is_wide = false;    // warpgroups multiply, each with `warp_rows` warps of 16 rows
  bool has_boxes = false;  // producers copy boxes
  int held_stages = 1;     // stages of the ring that instructions may still read while the next one is filled
};
const MmaTraits& traits_of(Mma mma);

/// The tile of a block: rows x columns sums, `depth` products per step.
struct ProductTile {
  Arithmetic arithmetic = Arithmetic::scalar;
  int rows = 0, columns = 0, depth = 0;
  int warp_rows = 1, warp_columns = 1;  // warps of a block
  int rows_each = 0, columns_each = 0;  // scalar: sums per thread; otherwise: 16 x 8 tiles per warp
  int stages = 2;                       // operand tiles in the ring in shared memory
  int blocks = 1;                       // blocks resident on a multiprocessor; registers must leave room for them
  int splits = 1;                       // number of splits of the depth; each is a separate block
  double microseconds = 0;              // expected time of the whole product
  Mma mma = Mma::scalar;
  int producers = 0;        // has_boxes: threads that request boxes, in addition to the multiplying ones
  int grid = 0;             // wgmma_tma: the largest number of blocks; each computes one tile after the other
  bool is_swapped = false;  // wgmma_cluster: `rows` are lines of the right operand, which the warpgroups divide

  bool is_wide() const { return traits_of(mma).is_wide; }
  bool has_boxes() const { return traits_of(mma).has_boxes; }
  int threads() const { return kWarpThreads * warp_rows * warp_columns + producers; }
};

/// The properties of a product's operands that restrict tiles.
struct TileConstraints {
  bool left_along_depth = true, right_along_depth = true;  // True if lines in shared memory run along the depth
  bool is_held = false;     // True if some operand passes through registers on its way to shared memory
  int64_t whole_steps = 0;  // the depth is best cut at multiples of this; 0: anywhere
  bool divides = false;     // True if finding an element takes divisions
  bool gathers = false;     // True if each line has its own address
  bool left_by_element = false, right_by_element = false;  // True if elements are copied one by one
  bool has_tma_views = false;                              // True if both operands can be copied as TMA tiles
  bool has_windows = false, left_has_windows = false;      // True for a convolution whose boxes are copied by pixels
  int box_bytes = 0;               // bytes of a result element if results are stored as boxes; 0: threads store them
  bool reads_boxes = false;        // True if the epilogue reads a tensor with the layout of the results
  double epilogue_operations = 0;  // instructions per result
};

/// Shared memory of a block; must match the layout of device/gart_operand.cuh.
int64_t shared_bytes(const ProductTile& tile, const TileConstraints& constraints);

/// True if a tile loop copies the epilogue's inputs as boxes. Threads read them instead if boxes would take shared
/// memory that stages need.
bool reads_boxes(const ProductTile& tile, const TileConstraints& constraints);
/// Boxes of results (64 lines of 128 bytes) in a set of a warpgroup of a tile loop.
int boxes_of(const ProductTile& tile, const TileConstraints& constraints);
/// Sets of boxes of a warpgroup: 2 if the boxes that the next tile's epilogue reads are copied ahead.
int box_sets(const ProductTile& tile, const TileConstraints& constraints);

struct ProductSize {
  double batch = 1, rows = 1, columns = 1, depth = 1;
  double left_bytes = 4, right_bytes = 4, result_bytes = 4;  // bytes of an element in memory
  double box_depth = 0;  // depth of tiles that are copied as boxes, if it is more than `depth`
};
/// All tile shapes of the target, with the depths and numbers of stages that fit shared memory. They are not split.
std::vector<ProductTile> product_tiles(const Target& target, const TileConstraints& constraints);

/// At most `most` tiles with the least expected time, best first. Each shape appears with its best numbers of stages
/// and splits.
std::vector<ProductTile> best_product_tiles(const Target& target, const ProductSize& size,
                                            const TileConstraints& constraints, size_t most);

/// "64x64x32 3xtf32, 3 stages, 8 splits"
std::string describe(const ProductTile& tile);

}  // namespace gcg::cuda
