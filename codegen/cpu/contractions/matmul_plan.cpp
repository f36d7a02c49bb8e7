#include "codegen/cpu/contractions/matmul_plan.h"

#include <algorithm>

#include "codegen/cpu/contractions/block_integers.h"
#include "codegen/cpu/contractions/microkernel.h"
#include "codegen/cpu/contractions/tile_kernel.h"
#include "compiler/kernel/machine.h"
#include "compiler/support/error.h"

namespace gcg::cpu {
namespace {

constexpr int64_t default_panel_columns = 48;
constexpr int64_t line_words = kCacheLine / 4;
constexpr int64_t prefetch_period = MicroKernel::prefetch_period;

/// Rows of the tallest tile. Tiles have 9x3, 6x2 and 8x3 vectors; tiles of widened bytes have 8x3, 5x2 and 7x3.
int tallest_tile(const CpuTarget& target, Multiply multiply) {
  const int tallest = target.isa == Isa::avx512 ? 9 : target.isa == Isa::avx2 ? 6 : 8;
  return multiply == Multiply::widened_bytes ? tallest - 1 : tallest;
}

/// Half a vector of AVX-512 if the columns do not fill more, because some CPUs multiply twice as many of those per
/// cycle. Measured on a Zen 4, 64x128x8: 51 GFLOP/s in whole vectors.
int lanes_for(const Dim& columns, const CpuTarget& target, Multiply multiply) {
  const int lanes = target.lanes(multiply == Multiply::doubles ? DType::f64 : DType::f32);
  const bool are_few = columns.is_constant() && 2 * columns.constant() <= lanes;
  return target.has_avx512() && multiply == Multiply::floats && are_few ? lanes / 2 : lanes;
}

std::vector<int> possible_heights(const Dim& m, int tallest) {
  std::vector<int> heights;
  if (m.is_constant()) {
    if (m.constant() <= 0) return {1};
    const int64_t tiles = (m.constant() + tallest - 1) / tallest;
    heights.push_back(static_cast<int>(m.constant() / tiles));
    if (m.constant() % tiles != 0) heights.push_back(heights.front() + 1);
  } else {
    for (int rows = 1; rows <= tallest; ++rows) heights.push_back(rows);
  }
  return heights;
}

MatMulPlan::Source source_of(const MatMulKernel& matmul, const Dim& tiles) {
  using Source = MatMulPlan::Source;
  if (matmul.packed_columns > 0) return Source::packed;
  if (!matmul.b.column_stride.is(1)) return Source::copied;
  if (!tiles.is_constant()) return Source::either;
  return tiles.constant() >= MatMulPlan::copy_tiles ? Source::copied : Source::in_place;
}

/// Measured on an Emerald Rapids, 128 rows, K = 3072, weights from memory. GFLOP/s by depth of a block: whole 140, 1024
/// 155, 768 162, 512 and 256 166. At K = 768 there is no difference.
constexpr int64_t deepest_block = 512;  // in k steps: 96 KiB of a panel
/// Measured on a Zen 3 (AVX2), share of the peak by strips of 192, 256, 384 steps: 197x768x3072 91, 91, 91 %;
/// 197x3072x768 92, 94, 92 %.
constexpr int64_t deepest_strip = 256;  // in k steps: 16 KiB of a strip of two vectors, 6 KiB of a row tile

/// For an L1 of 48 KiB: 18 KiB of a panel stay there while row tiles of 12 KiB stream by. Measured on a Granite Rapids,
/// 128x768x768 bytes, by 64, 96 and 192 words: 80, 67, 82 us with weights from L3; 48, 45, 47 us from L2.
constexpr int64_t deepest_tiled = 96;  // k steps
/// For an L2 of 2 MiB: bytes of a block's rows that are kept there, as pairs of bf16 or as copies.
constexpr int64_t most_narrowed = 1 << 20;

/// Cuts k into blocks of equal depth, a multiple of a cache line of A. For words of integers, the depth is that of one
/// of their blocks, or the whole depth.
void cut_depth(MatMulPlan& plan) {
  const Dim& k = plan.steps;
  plan.k_block = k.is_constant() ? k.constant() : 0;
  if (plan.blocks && plan.blocks->block <= deepest_strip) {
    plan.k_block = deepest_strip / plan.blocks->block * plan.blocks->block;
    plan.k_blocks = std::max<int64_t>(1, (k.constant() + plan.k_block - 1) / plan.k_block);
  }
  if (plan.blocks) return;
  if (plan.source != MatMulPlan::Source::packed || !k.is_constant()) return;
  if (!plan.fetches_together()) return;
  const int64_t deepest = plan.tiled ? deepest_tiled : plan.strips() ? deepest_strip : deepest_block;
  plan.k_blocks = std::max<int64_t>(1, (k.constant() + deepest - 1) / deepest);
  plan.k_block = (k.constant() / plan.k_blocks + line_words - 1) / line_words * line_words;
  plan.k_blocks = std::max<int64_t>(1, (k.constant() + plan.k_block - 1) / std::max<int64_t>(1, plan.k_block));
}

/// Cuts the rows into blocks of nearly equal height. If threads pack panels themselves, there is one block, so that a
/// packed panel is used for all rows.
void cut_rows(MatMulPlan& plan) {
  if (plan.tiled && plan.steps.is_constant()) {
    const int64_t tile_bytes = plan.tallest * plan.widened_row().constant() * size_of(DType::i32);
    plan.most_tiles = std::clamp<int64_t>(most_narrowed / tile_bytes, 1, plan.most_tiles);
  }
  if (plan.source == MatMulPlan::Source::packed) plan.row_blocks = max(ceil_div(plan.tiles, plan.most_tiles), 1);
  plan.block_tiles = ceil_div(plan.tiles, plan.row_blocks);
}

void plan_prefetch(MatMulPlan& plan) {
  if (plan.source != MatMulPlan::Source::packed) {
    plan.prefetch_lines = 0;
  } else if (plan.tiles.is_constant()) {
    const bool read_once_from_near = plan.near && plan.tiles.constant() <= 1;
    plan.prefetch_lines = read_once_from_near       ? 0
                          : plan.fetches_together() ? plan.lines_per_pass().constant()
                                                    : plan.panel_lines();
  }
}

}  // namespace

int MatMulPlan::widest(int rows) const {
  if (tiled) return panel_vectors();
  for (int vectors = panel_vectors(); vectors > 1; --vectors) {
    MicroKernel tile;
    tile.rows = rows;
    tile.vectors = vectors;
    tile.lanes = lanes;
    tile.multiply = multiply;
    tile.right = right;
    if (panel_vectors() % vectors == 0 && tile.registers() <= registers) return vectors;
  }
  return 1;
}

int MatMulPlan::rows_together() const {
  if (tiled) return widens_panels() ? 1 : tallest + 1;  // the operands of pairs are loaded before they are multiplied
  int rows = 1;
  const auto sets = [&](int height) {
    MicroKernel tile;
    tile.rows = height;
    tile.vectors = widest(height);
    tile.lanes = lanes;
    tile.multiply = multiply;
    return tile.sets();
  };
  while (rows <= tallest && (passes(rows) == 1 || sets(rows) > 1)) ++rows;
  return rows;
}

int64_t MatMulPlan::panel_lines() const { return prefetch_period * panel_columns * size_of(panel_type()) / kCacheLine; }

Dim MatMulPlan::tiles_together() const { return chunk() > 1 ? min(block_tiles, chunk()) : block_tiles; }

Dim MatMulPlan::lines_per_pass() const { return ceil_div(panel_lines(), max(tiles_together() * passes(), 1)); }

Dim MatMulPlan::panel_words() const {
  if (copies()) return ceil_div(steps, lanes) * lanes * panel_columns;
  if (has_last_step()) return lanes * panel_columns;
  if (!widens_panels()) return 0;
  const Dim rows = k_blocks > 1 ? Dim(k_block) : blocks ? blocks->words() * blocks->per_word() : steps;
  return (tiled ? ceil_div(rows, lanes) * lanes : rows) * panel_columns;
}

Dim MatMulPlan::scratch_bytes() const {
  const Dim rows = widens() ? widened_row() * tallest * (tiled ? block_tiles : Dim(1)) : Dim(0);
  return max(panel_words() * size_of(word()), few_bytes) + (rows + sums()) * size_of(word());
}

namespace {

const char* note_of(Multiply multiply) {
  switch (multiply) {
    case Multiply::floats:
    case Multiply::pairs:
      return "";
    case Multiply::doubles:
      return ", f64";
    case Multiply::bytes:
      return ", quads";
    case Multiply::signed_bytes:
      return ", signed quads";
    case Multiply::narrow_bytes:
      return ", narrow quads";
    case Multiply::widened_bytes:
      return ", widened quads";
    case Multiply::halves:
      return ", pairs";
  }
  return "";
}

}  // namespace

std::string MatMulPlan::note() const {
  const char* sources[] = {"packed panels", "panels packed by each thread", "B in place",
                           "B in place or panels packed by each thread"};
  std::string rows = std::to_string(heights.back());
  if (heights.size() > 1) rows = std::to_string(heights.front()) + ".." + rows;
  const std::string in_blocks = blocks ? concat(", ", blocks->bits, " bits by blocks of ", blocks->block) : "";
  return concat(rows, "x", widest(heights.back()) * lanes, ", ", sources[static_cast<int>(source)], note_of(multiply),
                size_of(right) == 2 ? concat(" of ", name_of(right)) : "", tiled ? ", tiles" : "", in_blocks);
}

namespace {

/// True if there are enough rows and products to outweigh the set-up of AMX tiles. Granite Rapids: 16 rows by 64 bytes
/// by 96 columns take half the time of vectors, 8 rows as long; 50 by 24 by 48 take longer.
bool has_rows_for_tiles(const MatMulKernel& matmul, Multiply multiply) {
  constexpr int64_t least_products = 1200, many_rows = 64, columns = TileKernel::block;
  const Dim& m = matmul.m.extent;
  const Dim &n = matmul.n.extent, &k = matmul.k.extent;
  if (m.is_constant() && m.constant() < TileKernel::least_rows) return false;
  if (!n.is_constant() || !k.is_constant()) return true;
  const int64_t rows = m.is_constant() ? m.constant() : many_rows;
  return rows * ((n.constant() + columns - 1) / columns) * k.constant() / (multiply == Multiply::halves ? 1 : 4) >=
         least_products;
}

/// Fewest multiplications of a task: handing a task to another thread takes about a microsecond, and this many
/// multiplications take less.
constexpr int64_t kLeastTask = 96 << 10;

int64_t units_per_task(const MatMulPlan& plan, const MatMulKernel& matmul) {
  if (!plan.steps.is_constant()) return 1;
  int64_t rows = 1;  // a symbolic number of rows may be 1
  if (matmul.m.extent.is_constant() && matmul.m.extent.constant() > 0)
    rows = std::min<int64_t>(matmul.m.extent.constant(), plan.tallest);
  return std::max<int64_t>(1, kLeastTask / std::max<int64_t>(1, rows * plan.panel_columns * plan.steps.constant()));
}

bool is_tiled(const MatMulKernel& matmul, const CpuTarget& target, Multiply multiply) {
  return target.has_amx && has_rows_for_tiles(matmul, multiply) &&
         (multiply == Multiply::bytes || multiply == Multiply::halves);
}

/// True for bytes whose rows end within a step, cross cache lines, or share sets of L1: AMX tiles would load them more
/// slowly.
bool needs_copied_rows(const MatMulPlan& plan, const MatMulKernel& matmul) {
  constexpr int64_t set_apart = 2048;
  if (!plan.tiled || plan.multiply != Multiply::bytes) return false;
  const Dim& stride = matmul.a.row_stride;
  return plan.has_last_step() || !stride.is_constant() || stride.constant() % kCacheLine != 0 ||
         stride.constant() % set_apart == 0;
}

}  // namespace

Multiply multiply_of_product(const CpuTarget& target, const Kernel& kernel, const MatMulKernel& matmul) {
  const auto type = [&](const MatrixView& view) { return kernel.operands[static_cast<size_t>(view.operand)].dtype; };
  // On CPUs with AMX, vectors multiply pairs at half the speed of f32.
  const bool pairs = (!target.has_amx || has_rows_for_tiles(matmul, Multiply::halves)) && matmul.packed_columns > 0 &&
                     matmul.a.column_stride.is(1) && matmul.k.extent.is_constant() &&
                     matmul.k.extent.constant() % 2 == 0;
  return pairs && type(matmul.b) == DType::bf16 && target.has_bf16 ? Multiply::halves
                                                                   : multiply_of(target, type(matmul.a), matmul.narrow);
}

MatMulPlan plan_matmul(const MatMulKernel& matmul, const CpuTarget& target, Multiply multiply, DType right) {
  MatMulPlan plan;
  plan.multiply = multiply;
  plan.blocks = matmul.blocks;
  if (sums_floats(multiply) && !plan.blocks) plan.right = right;
  plan.steps = floor_div(matmul.k.extent, DotProduct::elements(multiply));
  plan.lanes = lanes_for(matmul.n.extent, target, multiply);
  plan.registers = target.vector_registers;
  plan.tiled = is_tiled(matmul, target, multiply);
  plan.tallest = plan.tiled ? TileKernel::most_rows : tallest_tile(target, multiply);
  plan.panel_columns = matmul.packed_columns > 0 ? matmul.packed_columns : default_panel_columns;
  GCG_CHECK(plan.panel_columns % plan.lanes == 0, "matmul panels of ", plan.panel_columns, " columns for vectors of ",
            plan.lanes);
  if (plan.blocks) {
    plan.rows_as_integers = multiplies_rows_as_integers(target, matmul, plan.lanes);
    plan.few_rows = plan.rows_as_integers ? kIntegerRows : kBlockRows;
    plan.few_bytes = plan.rows_as_integers ? kIntegerRows * integer_row_bytes(matmul) : 0;
  }
  plan.tiles = ceil_div(matmul.m.extent, plan.tallest);
  plan.source = source_of(matmul, plan.tiles);
  GCG_CHECK(DotProduct::elements(multiply) == 1 || plan.source == MatMulPlan::Source::packed,
            "a product of words of several elements reads packed panels");
  GCG_CHECK(plan.right == plan.number() || plan.source == MatMulPlan::Source::packed, "a product by ",
            name_of(plan.right), " reads packed panels");
  if (plan.masks() && !target.has_avx512()) --plan.registers;  // one register holds the mask of the last columns
  plan.heights = possible_heights(matmul.m.extent, plan.tallest);
  if (plan.tiled) plan.heights = {plan.heights.back()};  // AMX tiles take any number of rows up to their height
  plan.panels = ceil_div(matmul.n.extent, plan.panel_columns);
  plan.entries = 1;
  for (const Axis& axis : matmul.batch) plan.entries = plan.entries * axis.extent;
  plan.copies_rows = needs_copied_rows(plan, matmul);
  plan.strip_order = plan.source == MatMulPlan::Source::packed && !plan.tiles.is(1) && !plan.widens() && !plan.tiled;
  cut_depth(plan);
  cut_rows(plan);
  const Dim bytes = plan.steps * plan.panels * plan.panel_columns * size_of(plan.panel_type());
  plan.near = matmul.near || (bytes.is_constant() && bytes.constant() <= kCommonL2 / 2);
  plan_prefetch(plan);
  plan.grain = units_per_task(plan, matmul);
  return plan;
}

}  // namespace gcg::cpu
