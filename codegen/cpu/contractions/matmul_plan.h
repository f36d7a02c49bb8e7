// The plan of a matrix product: its panels of columns, tiles of rows and tasks.
//
// Work is a grid of (row block, panel, batch entry, row tile) units. A task is one unit, or several small ones. A
// thread's contiguous range of tasks walks the row tiles of one panel before the next panel. The panel and the block's
// rows stay in L2, and every panel is streamed once per block.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "codegen/cpu/contractions/dot_product.h"
#include "codegen/cpu/llvm/cpu_target.h"
#include "compiler/kernel/kernel.h"

namespace gcg::cpu {

struct MatMulPlan {
  /// The fewest row tiles for which packing a panel of contiguous columns saves time. Packing is 5-9 % faster at 128
  /// and 197 rows for rows 3-12 KB apart, and five times faster at K = 768. It is 15-30 % slower at 9 and 20 rows.
  static constexpr int64_t copy_tiles = 5;

  /// The source of B for register tiles. packed: panels packed at compile time. copied: a panel that each thread packs
  /// into its scratch memory when it starts on it. in_place: the operand itself (only if its columns are contiguous).
  /// either: for a symbolic number of rows, the run decides between copied and in_place.
  enum class Source : uint8_t { packed, copied, in_place, either };

  int lanes = 16;      // words of one vector
  int registers = 32;  // vector registers a tile may use
  int64_t panel_columns = 48;
  Multiply multiply = Multiply::floats;
  bool tiled = false;                  // uses AMX's tiles (tile_kernel.h)
  std::optional<BlockPacking> blocks;  // set for packed panels of words of integers
  int few_rows = 0;                    // the most rows that are multiplied by the packed words directly
  bool rows_as_integers = false;       // True if those rows become integers, too
  int64_t few_bytes = 0;               // bytes of scratch memory for those rows, instead of a panel
  DType right = DType::f32;            // type in memory of B's floats; for pairs of bf16 it is bf16
  Dim steps;                           // words along k
  Source source = Source::packed;
  int tallest = 9;             // rows of the tallest row tile
  std::vector<int> heights;    // possible row counts of a tile; one or two if M is constant
  Dim tiles, panels, entries;  // row tiles, column panels, batch entries
  /// Blocks of rows, outermost: a block's rows of A stay in a near cache while panel after panel streams by. The last
  /// block may have fewer tiles.
  Dim row_blocks = 1, block_tiles;
  /// True if a repeated product finds all panels in a cache. They are in L2 if they are small, as in a loop over time,
  /// or in the last-level cache (MatMulKernel::near).
  bool near = false;
  /// Cache lines of the next panel that are fetched in every fourth k step; nullopt if M is symbolic.
  std::optional<int64_t> prefetch_lines;
  int64_t grain = 1;  // units of a task
  /// A deep product is cut along k, so that L2 holds one block of a panel while all tiles of a chunk use it.
  int64_t k_blocks = 1, k_block = 0;

  /// The fewest row tiles for which a panel of 16-bit floats, or a block of it, is first converted in scratch memory:
  /// widened, or interleaved to pairs of rows. Doing so in registers takes a seventh of each tile's time; doing so in
  /// advance takes the time of half a tile.
  static constexpr int64_t widen_tiles = 4;
  /// True if a panel may be widened into scratch memory.
  bool widens_panels() const {
    return blocks || (size_of(right) == 2 && (tiled || !(tiles.is_constant() && tiles.constant() < widen_tiles)));
  }
  bool copies() const { return source == Source::copied || source == Source::either; }
  /// True if a register tile may cover columns that do not exist in memory.
  bool masks() const { return source == Source::in_place || source == Source::either; }
  int panel_vectors() const { return static_cast<int>(panel_columns) / lanes; }
  /// Vectors of the widest register tile of this height; divides panel_vectors().
  int widest(int rows) const;
  /// Passes of a row tile over its panel, each `widest` vectors wide. The first function is for the tallest tile, the
  /// second for a tile of `rows` rows.
  int64_t passes() const { return passes(heights.back()); }
  int64_t passes(int rows) const { return panel_vectors() / widest(rows); }
  bool fetches_together() const { return !tiles.is(1) || heights.back() >= rows_together(); }
  /// The fewest rows of a single tile whose passes over a panel together fetch the next one. If no tile has enough
  /// rows, one more than the rows of the tallest tile. AVX2: 3 rows 14 -> 21 GB/s, 6 rows 15 -> 21. Two rows, whose
  /// passes have two sets of sums, are faster if each pass fetches a fixed distance ahead: 16 GB/s against 15.
  int rows_together() const;
  /// True if a panel's columns are walked in strips of `strip_vectors`: all row tiles of a block go along one strip
  /// before the next. A strip of a block of k then stays in L1, and the row tiles come from L2. Otherwise each row tile
  /// makes its passes over the panel.
  bool strip_order = false;
  bool strips() const { return strip_order && passes() > 1; }
  int strip_vectors() const { return widest(heights.back()); }
  /// The number of row tiles that use a block of a panel one after another. Their passes together fetch the next block.
  Dim tiles_together() const;
  /// Cache lines of a panel in one prefetch period of k steps, and the number of them that each pass of those tiles
  /// fetches.
  int64_t panel_lines() const;
  Dim lines_per_pass() const;
  /// Units of work: row tiles of panels of batch entries, in the order in which a thread walks them.
  Dim units() const { return entries * panels * row_blocks * block_tiles; }
  Dim tasks() const { return ceil_div(units(), grain); }
  /// The number of row tiles whose sums wait for the next block of k or the next strip.
  int64_t chunk() const { return strips() || widens_panels() ? most_tiles : k_blocks > 1 ? 16 : 1; }
  int64_t most_tiles = 24;  // most tiles of a block: 144 rows with AVX2
  /// True if rows of A are converted in scratch memory, to widened bytes or pairs of bf16. Each row tile is converted
  /// before the passes over a panel. For AMX tiles, all rows of a block are converted once, over the whole depth. Bytes
  /// are copied, too, if AMX tiles cannot load them from memory.
  bool widens() const { return multiply == Multiply::widened_bytes || multiply == Multiply::halves || copies_rows; }
  bool copies_rows = false;
  /// True if the depth in words does not fill the last step of AMX tiles: the panel's rows of that step are copied,
  /// with zeros after them.
  bool has_last_step() const {
    return tiled && multiply == Multiply::bytes && !(steps.is_constant() && steps.constant() % lanes == 0);
  }
  /// Words of a converted row, in whole vectors. Rows for AMX tiles are one line longer: if the sixteen rows of an AMX
  /// tile were a multiple of 4096 bytes apart, they would share one set of L1.
  Dim widened_row() const {
    const Dim padded = ceil_div(k_blocks > 1 && !tiled ? Dim(k_block) : steps, lanes) * lanes;
    return tiled ? padded + Dim(lanes) : padded * DotProduct::parts(multiply);
  }
  /// The type of a panel's elements: words, or floats of 16 bits.
  DType panel_type() const {
    return multiply == Multiply::floats || multiply == Multiply::doubles ? right : DType::i32;
  }
  /// word: the type of words in scratch memory, whatever they hold. number: the type of operands that are numbers.
  DType word() const { return multiply == Multiply::doubles ? DType::f64 : DType::i32; }
  DType number() const { return multiply == Multiply::doubles ? DType::f64 : DType::f32; }
  /// Words of scratch memory. It holds, in this order: the sums of a chunk of row tiles; the panel (or its last step)
  /// that a thread packs or widens; converted rows.
  int64_t sums() const { return chunk() * tile_sums(); }
  Dim panel_words() const;
  int64_t tile_sums() const { return tallest * panel_columns; }
  Dim scratch_bytes() const;
  std::string note() const;
};

/// Chooses the multiplication. Pairs of bf16 are neighbouring columns of A and rows of packed B.
Multiply multiply_of_product(const CpuTarget& target, const Kernel& kernel, const MatMulKernel& matmul);

/// `right`: the type of B in memory.
MatMulPlan plan_matmul(const MatMulKernel& matmul, const CpuTarget& target, Multiply multiply,
                       DType right = DType::f32);

}  // namespace gcg::cpu
