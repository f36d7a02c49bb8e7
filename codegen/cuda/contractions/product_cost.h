// Which tiles a matrix product is cut into: an analytic model of time per GPU.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "compiler/ir/dim.h"
#include "compiler/kernel/machine.h"

namespace gcg::cuda {

/// How products are multiplied and summed.
enum class Arithmetic : uint8_t {
  scalar,  // f32 on CUDA cores
  tf32x3,  // f32 as two tf32 numbers each, three products on tensor cores
  tf32,
  f16,
  bf16,
};
const char* name_of(Arithmetic arithmetic);
/// Of factors of 16 bits.
inline bool is_half(Arithmetic a) { return a == Arithmetic::f16 || a == Arithmetic::bf16; }
/// Bytes of a factor in a tile.
inline int element_bytes(Arithmetic a) { return is_half(a) ? 2 : 4; }

/// The arithmetic that the target's precision asks for. fp32 becomes tf32x3 where that is faster than CUDA cores: it is
/// as accurate (22 bits of each factor, f32 sums).
Arithmetic arithmetic_of(const Target& target);

/// What a block computes: rows x columns sums, `depth` products at a time.
struct ProductTile {
  Arithmetic arithmetic = Arithmetic::scalar;
  int rows = 0, columns = 0, depth = 0;
  int warp_rows = 1, warp_columns = 1;  // warps of a block
  int rows_each = 0, columns_each = 0;  // scalar: sums of a thread; else: 16 x 8 tiles of a warp
  int stages = 2;                       // operand tiles in shared memory
  int blocks = 1;                       // resident on a multiprocessor: what registers must leave room for
  int splits = 1;                       // of the depth, each a block of its own
  double microseconds = 0;              // expected for the whole product
  bool is_wide = false;                 // by warpgroups (device/gart_warpgroup.cuh): `warp_rows` warps of 16 rows
  int producers = 0;                    // wide: threads beside them that have boxes copied (device/gart_tile_loop.cuh)
  int grid = 0;                         // then: blocks at most, each of which computes tile after tile
  /// By the blocks of a cluster, which share the depth in `splits` (device/gart_cluster_sums.cuh); `rows` are then
  /// lines of the operand that warpgroups share out, which is the right one if it is swapped.
  bool is_cluster = false, is_swapped = false;

  int threads() const { return kWarpThreads * warp_rows * warp_columns + producers; }
};

/// What a product's operands ask of tiles.
struct ProductForm {
  bool left_along_depth = true, right_along_depth = true;  // how lines run in shared memory
  bool is_held = false;     // some operand goes through registers on its way to shared memory
  int64_t whole_steps = 0;  // the depth in which operands are best cut, 0 if any is as good
  bool divides = false;     // elements are found by division
  bool gathers = false;     // each line has a place of its own
  bool left_by_element = false, right_by_element = false;  // copied one by one
  bool has_tma_views = false;                              // both operands can be copied as TMA tiles
  bool has_windows = false, left_has_windows = false;      // of a convolution, of which boxes are copied by pixels
  int box_bytes = 0;               // of an element of results that are stored as boxes; 0: by threads
  bool reads_boxes = false;        // the epilogue reads a tensor that lies as the results do
  double epilogue_operations = 0;  // instructions of a result
};

/// Shared memory of a block; the layout is that of device/gart_operand.cuh.
int64_t shared_bytes(const ProductTile& tile, const ProductForm& form);

/// Does a tile loop have what the epilogue reads copied as boxes? Its threads read it where the boxes would take the
/// room of stages.
bool reads_boxes(const ProductTile& tile, const ProductForm& form);
/// Boxes of 64 lines of 128 bytes of results that each warpgroup of a tile loop has room for.
int boxes_of(const ProductTile& tile, const ProductForm& form);

struct ProductSize {
  double batch = 1, rows = 1, columns = 1, depth = 1;
  double left_bytes = 4, right_bytes = 4, result_bytes = 4;  // of an element in memory
  double box_depth = 0;  // of tiles that are copied as boxes, where it is more than `depth`
};
/// Every shape of a tile for the target, in the depths and numbers of stages that fit; not split.
std::vector<ProductTile> product_tiles(const Target& target, const ProductForm& form);

/// The tiles of least expected time, the best first, `most` at most; of each shape the best numbers of stages and
/// splits.
std::vector<ProductTile> best_product_tiles(const Target& target, const ProductSize& size, const ProductForm& form,
                                            size_t most);

/// "64x64x32 3xtf32, 3 stages, 8 splits"
std::string describe(const ProductTile& tile);

}  // namespace gcg::cuda
