#include "codegen/cuda/contractions/cluster_product.h"

#include <algorithm>
#include <cmath>

#include "codegen/cuda/contractions/epilogue_text.h"
#include "compiler/support/error.h"

namespace gcg::cuda {
namespace {

constexpr int kLineBytes = 128;  // of a box
constexpr int kStep = 64;        // depths of a box

class ClusterText {
 public:
  ClusterText(const Kernel& kernel, const Product& product, const ProductTile& tile)
      : f_(kernel), p_(product), tile_(tile), vector_(tile.is_swapped ? 1 : product.vector) {}

  KernelText emit(const std::string& kind) {
    f_.include("gart_tile_loop.cuh");
    f_.include("gart_cluster_sums.cuh");
    coordinates();
    p_.declare_batch(f_, batch_);
    TiledOperands(f_, p_, boxes_of_operands()).declare(f_);
    f_.line("typedef gart_cluster_sums<gart_wide_", name_of(tile_.arithmetic), ", ",
            tile_.is_swapped ? "Right, Left" : "Left, Right", ", ", tile_.stages, ", ", boxes(), ", ", tile_.splits,
            ", ", tile_.is_swapped ? "true" : "false", "> Sums;");
    f_.line("GART_SHARED(shared);");
    f_.line("Sums sums(shared);");
    f_.line("sums.multiply<", copy_ahead(), ">(", tile_.is_swapped ? "right, left" : "left, right", ", ",
            int_text(f_, steps()), ");");
    store_results();
    f_.line("sums.leave();");
    KernelText text = f_.finish(kind + "_small", tile_.threads(), 1, tile_.splits > 1 ? tile_.splits : 0);
    text.tasks = tiles(true) * tiles(false) * p_.batch * tile_.splits;
    text.shared_bytes = shared_bytes();
    text.note = concat(describe(tile_), ", expected ", std::round(tile_.microseconds * 10) / 10, " us");
    return text;
  }

 private:
  int boxes() const { return tile_.depth / kStep; }
  /// The number of tiles along the tile's rows or columns.
  Dim tiles(bool of_rows) const {
    const Dim& lines = of_rows != tile_.is_swapped ? p_.rows : p_.columns;
    return ceil_div(lines, Dim(of_rows ? tile_.rows : tile_.columns));
  }

  /// The second operand's tile changes fastest, so that concurrent blocks share lines of the first operand.
  void coordinates() {
    const std::string b_tiles = int_text(f_, tiles(false)), a_tiles = int_text(f_, tiles(true));
    f_.line("const int tile = blockIdx.x / ", tile_.splits, ";");
    f_.line("const int ", tile_.is_swapped ? "column0" : "row0", " = tile / ", b_tiles, " % ", a_tiles, " * ",
            tile_.rows, ", ", tile_.is_swapped ? "row0" : "column0", " = tile % ", b_tiles, " * ", tile_.columns, ";");
    f_.line("const int batch = tile / ", b_tiles, " / ", a_tiles, ";");
  }

  /// The number of steps along the depth, of 64 elements each; each tap of a window begins a new step.
  Dim steps() const {
    return p_.tap_channels > 0 ? Dim(p_.taps * (box_channels(p_) / kStep)) : ceil_div(p_.depth, Dim(kStep));
  }

  /// The shape of the operands' boxes: the lines of a left box, the lines of a right box, and the depth of a step.
  ProductTile boxes_of_operands() const {
    ProductTile t = tile_;
    t.depth = kStep;
    if (t.is_swapped) std::swap(t.rows, t.columns);
    return t;
  }

  /// Which constant operand is prefetched. Its whole ring is copied before the previous launch ends.
  int copy_ahead() {
    const auto bytes = [&](int lines) { return int64_t{kLineBytes} * lines * boxes() * tile_.stages; };
    const int a = tile_.is_swapped ? p_.right_operand : p_.left_operand;
    const int b = tile_.is_swapped ? p_.left_operand : p_.right_operand;
    if (is_constant(f_.kernel(), b) && !(tile_.is_swapped && is_constant(f_.kernel(), a))) {
      f_.wait_later(b, bytes(tile_.columns));
      return 2;
    }
    if (is_constant(f_.kernel(), a)) {
      f_.wait_later(a, bytes(tile_.rows));
      return 1;
    }
    f_.wait_later(-1, 0);
    return 0;
  }

  void store_results() {
    f_.open("if (Sums::adds())");
    f_.open("for (int i = threadIdx.x; i < Sums::kMine; i += Sums::kMultiplying)");
    f_.line("const int a_line = sums.row(i), b_line = sums.column(i);");
    f_.line("const int row = row0 + ", tile_.is_swapped ? "b" : "a", "_line, first_column = column0 + ",
            tile_.is_swapped ? "a" : "b", "_line;");
    f_.line("if (row >= ", int_text(f_, p_.rows), " || first_column >= ", int_text(f_, p_.columns), ") continue;");
    f_.line("gart_vector<float, Sums::kVector> sum = sums.sum(a_line, b_line);");
    EvaluationPoint place = batch_;
    p_.declare_row(f_, place);
    const int sums = tile_.is_swapped ? 1 : 4;
    for (int first = 0; first < sums; first += vector_) store(place, first);
    f_.close();
    f_.close();
  }

  /// Stores `vector_` neighbouring columns.
  void store(EvaluationPoint place, int first) {
    f_.open(first == 0 ? std::string() : concat("if (first_column + ", first, " < ", int_text(f_, p_.columns), ")"));
    f_.line("const int column = first_column", first == 0 ? "" : concat(" + ", first), ";");
    p_.declare_column(f_, place);
    EpilogueText epilogue(f_, p_, vector_);
    const auto name = [first](int v) { return concat("sum.at[", first + v, "]"); };
    epilogue.values(place, name);
    epilogue.store(place, name);
    f_.close();
  }

  /// Must match the layout of device/gart_cluster_sums.cuh.
  int64_t shared_bytes() const {
    const int64_t ring = int64_t{kLineBytes} * tile_.stages * boxes() * (tile_.rows + tile_.columns);
    const int64_t sums = int64_t{4} * tile_.rows * (tile_.columns + (tile_.is_swapped ? 1 : 8));
    return std::max(ring, (sums + 1023) / 1024 * 1024) + int64_t{16} * tile_.stages;
  }

  FunctionText f_;
  const Product& p_;
  const ProductTile& tile_;
  int vector_;
  EvaluationPoint batch_;
};

}  // namespace

KernelText emit_cluster_product(const Kernel& kernel, const Product& product, const ProductTile& tile,
                                const std::string& kind) {
  return ClusterText(kernel, product, tile).emit(kind);
}

}  // namespace gcg::cuda
