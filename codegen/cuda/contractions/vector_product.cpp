#include "codegen/cuda/contractions/vector_product.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>

#include "codegen/cuda/contractions/epilogue_text.h"
#include "compiler/kernel/machine.h"
#include "compiler/kernel/typical_extent.h"
#include "compiler/support/error.h"

namespace gcg::cuda {
namespace {

constexpr int kTile = 16, kPiece = 64;  // lines of a tile; depths that a warp processes at once
constexpr int kPieceBytes = kTile * kPiece * 2;
constexpr double kLeastPieces = 4;  // pieces per warp; with fewer, most warps would have no work

// If several tilings have the same cost, the first one is the fastest on an H200.
constexpr std::array kForms = {VectorTiling{8, 2, 2}, VectorTiling{16, 2, 1}, VectorTiling{4, 4, 3},
                               VectorTiling{8, 4, 2}};

/// The two operands.
struct Sides {
  Sides(const Product& p, bool few_rows)
      : few(few_rows ? p.left : p.right),
        many(few_rows ? p.right : p.left),
        vectors(few_rows ? p.rows : p.columns),
        lines(few_rows ? p.columns : p.rows),
        many_operand(few_rows ? p.right_operand : p.left_operand) {}
  Product::Copy few, many;
  Dim vectors, lines;
  int many_operand;
};

double tiles_of(const Sides& s) { return std::ceil(typical(s.lines) / kTile); }

/// The number of blocks that share the tiles of one product of the batch.
double blocks_of_batch(const Machine& gpu, const VectorTiling& f, const Product& p) {
  return std::max(1.0, std::floor(double{1} * gpu.processors * f.blocks / typical(p.batch)));
}

/// The time is limited by the memory bandwidth, reduced by blocks that have one tile fewer than others, or by the reads
/// in flight. Measured on an H200 for one row times 0.6 to 500 MB: the model is within 8 %, and its best tiling within
/// 3 %.
double microseconds(const Machine& gpu, const VectorTiling& f, const Product& p, const Sides& s) {
  constexpr double kStart = 1.5, kUnderLoad = 0.8, kEnd = 0.1;  // latency of a read under load; the end of a tile
  constexpr double kIdle = 0.25;  // lost fraction of idle blocks' time; it is small because the other blocks get the
                                  // idle blocks' share of the bandwidth
  const double batch = typical(p.batch), tiles = tiles_of(s), pieces = std::ceil(typical(p.depth) / kPiece);
  const double tile_bytes = kPieceBytes * pieces, slots = f.warps * f.unroll;
  const double blocks = std::min(tiles, blocks_of_batch(gpu, f, p)), each = std::ceil(tiles / blocks);
  const double residents = std::ceil(blocks * batch / gpu.processors);
  const double read =
      batch * tiles * tile_bytes / gpu.bytes_per_second * 1e6 * (1 + kIdle * (each * blocks / tiles - 1));
  const double under_way = kPieceBytes * pieces / std::ceil(pieces / slots);
  return kStart + std::max(read, each * tile_bytes / (under_way / kUnderLoad)) + each * kEnd / residents;
}

class VectorText {
 public:
  VectorText(const Kernel& kernel, const Target& target, const Product& product, bool few_rows,
             const VectorTiling& tiling)
      : f_(kernel),
        p_(product),
        few_rows_(few_rows),
        sides_(product, few_rows),
        tiling_(tiling),
        arithmetic_(arithmetic_of(target)),
        most_blocks_(static_cast<int64_t>(blocks_of_batch(machine_of(target), tiling, product))) {}

  KernelText emit(const std::string& kind) {
    const Dim tiles = ceil_div(sides_.lines, Dim(kTile)), blocks = min(tiles, Dim(most_blocks_));
    f_.include("gart_vectors.cuh");
    f_.line("const int blocks = ", int_text(f_, blocks),
            ", first_tile = blockIdx.x % blocks, batch = blockIdx.x / blocks;");
    EvaluationPoint place;
    p_.declare_batch(f_, place);
    declare("few", few_rows_);
    declare("many", !few_rows_);
    f_.line("__shared__ float shared[", 2 * tiling_.warps * kTile * few(), "];");
    const bool ahead = is_constant(f_.kernel(), sides_.many_operand);
    f_.wait_later(ahead ? sides_.many_operand : -1, int64_t{kPieceBytes} * tiling_.warps * tiling_.unroll);
    f_.open("const auto finish = [&](int few_line, int many_line, float sum)");
    f_.line("const int row = ", few_rows_ ? "few" : "many", "_line, column = ", few_rows_ ? "many" : "few", "_line;");
    finish_one_sum(f_, p_, place);
    f_.close(";");
    const bool whole = is_multiple_of_pieces();
    f_.line("gart_multiply_vectors<gart_", name_of(arithmetic_), ", ", few(), ", ", tiling_.warps, ", ", tiling_.unroll,
            ", ", few_vector(), ", ", whole ? "true" : "false", ", ", ahead ? "true" : "false", ">(few, many, ",
            int_text(f_, p_.depth), ", first_tile, blocks, shared, finish);");
    KernelText text = f_.finish(kind + "_vector", kWarpThreads * tiling_.warps, tiling_.blocks);
    text.tasks = blocks * p_.batch;
    text.note = concat("vectors of ", few(), ", ", describe(tiling_), ", expected ",
                       std::round(tiling_.microseconds * 10) / 10, " us");
    return text;
  }

 private:
  int few() const { return static_cast<int>(sides_.vectors.constant()); }
  bool is_multiple_of_pieces() const { return p_.depth.is_constant() && p_.depth.constant() % kPiece == 0; }
  int few_vector() const { return sides_.few.along_depth ? sides_.few.vector : 1; }

  void declare(const char* name, bool left) {
    const Product::Matrix m = *p_.matrix(f_, left);
    const std::string conversion = conversion_of((left ? p_.left : p_.right).stored, arithmetic_).name;
    f_.line("const gart_lines<", conversion, "> ", name, " = {", m.base, ", ", f_.dim(m.line_stride).as_wide(), ", ",
            f_.dim(m.depth_stride).as_wide(), ", ", int_text(f_, left ? p_.rows : p_.columns), "};");
  }

  FunctionText f_;
  const Product& p_;
  bool few_rows_;
  Sides sides_;
  VectorTiling tiling_;
  Arithmetic arithmetic_;
  int64_t most_blocks_;
};

/// True if registers hold all data that a lane has in flight: 16 registers of weights per piece, and 8 for each eight
/// lines.
bool fits_registers(const VectorTiling& f, const Sides& s) {
  constexpr int64_t kMost = 96, kMostOfManyWarps = 48;
  return f.unroll * (16 + 8 * ((s.vectors.constant() + 7) / 8)) <= (f.warps > 8 ? kMostOfManyWarps : kMost);
}

bool fits(const Kernel& kernel, const Target& target, const Product& product, bool few_rows) {
  const Arithmetic arithmetic = arithmetic_of(target);
  const Sides s(product, few_rows);
  if (!machine_of(target).has_async_copies || !is_half(arithmetic)) return false;
  if (size_of(s.many.stored) != 2 || !s.many.along_depth || s.many.vector != 8) return false;
  if (!s.vectors.is_constant() || s.vectors.constant() < 1 || s.vectors.constant() > kMostVectors) return false;
  if (typical(product.depth) < kLeastPieces * kPiece) return false;
  FunctionText scratch(kernel);
  const auto many = product.matrix(scratch, !few_rows), few = product.matrix(scratch, few_rows);
  return many && few && many->depth_stride.is(1);
}

}  // namespace

std::string describe(const VectorTiling& f) {
  return concat("tensor cores, ", f.warps, " warps, ", f.unroll, " pieces, ", f.blocks,
                f.blocks == 1 ? " block" : " blocks");
}

std::vector<VectorTiling> vector_tilings(const Kernel& kernel, const Target& target, const Product& product,
                                         bool few_rows) {
  if (!fits(kernel, target, product, few_rows)) return {};
  const Sides sides(product, few_rows);
  std::vector<VectorTiling> tilings;
  std::copy_if(kForms.begin(), kForms.end(), std::back_inserter(tilings),
               [&](const VectorTiling& f) { return fits_registers(f, sides); });
  for (VectorTiling& f : tilings) f.microseconds = microseconds(machine_of(target), f, product, sides);
  const auto is_faster = [](const VectorTiling& a, const VectorTiling& b) {
    return std::llround(a.microseconds * 1000) < std::llround(b.microseconds * 1000);
  };
  std::stable_sort(tilings.begin(), tilings.end(), is_faster);
  return tilings;
}

KernelText emit_vectors(const Kernel& kernel, const Target& target, const Product& product, bool few_rows,
                        const VectorTiling& tiling, const std::string& kind) {
  return VectorText(kernel, target, product, few_rows, tiling).emit(kind);
}

}  // namespace gcg::cuda
