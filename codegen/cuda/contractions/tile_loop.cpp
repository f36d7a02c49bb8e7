// Warpgroup products whose operands and results are copied as boxes; each block computes one tile after the other
// (sm_90a).
#include <algorithm>

#include "codegen/cuda/contractions/product_text.h"
#include "compiler/kernel/machine.h"
#include "compiler/support/error.h"

namespace gcg::cuda {
namespace {

constexpr int kBoxBytes = 128;  // of a line

class TileLoopText : public ProductText {
 public:
  using ProductText::ProductText;

  KernelText emit(const std::string& kind) {
    f_.include(is_f32() ? "gart_f32_loop.cuh" : "gart_tile_loop.cuh");
    f_.include("gart_register_pressure.cuh");
    f_.include("gart_fast_math.cuh");
    epilogue_.approximate();
    const TiledOperands operands(f_, p_, tile_);
    declare_maps();
    declare_loop(operands);
    f_.open("if (loop.feeds())");
    feed(operands);
    f_.close();
    if (is_f32()) make_rests();
    f_.line("loop.prepare();");
    if (reads_boxes() && sets_ == 2) ask_for_boxes("blockIdx.x", "0");
    open_tiles();
    compute_tile();
    f_.close();
    f_.line("loop.finish();");
    KernelText text = finish(kind, 1);
    text.tasks = min(tile_count(), Dim(tile_.grid));
    text.least_registers = shared_registers(tile_).at_entry;
    return text;
  }

 private:
  bool is_f32() const { return tile_.arithmetic == Arithmetic::tf32x3; }
  /// True if results are stored as boxes. Split products store sums.
  bool stores_boxes() const { return p_.boxes && tile_.splits == 1; }
  bool reads_boxes() const { return stores_boxes() && cuda::reads_boxes(tile_, memory_constraints(p_)); }
  int box_columns() const { return kBoxBytes / static_cast<int>(size_of(p_.boxes->results.stored)); }

  void declare_maps() {
    if (stores_boxes()) results_ = result_map(f_, p_.boxes->results);
    if (reads_boxes()) read_ = result_map(f_, p_.boxes->read_view);
  }

  void declare_loop(const TiledOperands& operands) {
    const SharedRegisters registers = shared_registers(tile_);
    const std::string kind =
        is_f32() ? "gart_f32_loop<" : concat("gart_tile_loop<gart_wide_", name_of(tile_.arithmetic), ", ");
    f_.line(
        "typedef ", kind, "Left, Right, ", tile_.stages, ", ",
        is_f32() ? concat(registers.few, ", ", registers.splitting) : concat(tile_.warp_rows / 4, ", ", registers.few),
        ", ", registers.many, ", ", boxes_of(tile_, memory_constraints(p_)), ", ", sets_, "> Loop;");
    f_.open("if (threadIdx.x == Loop::kMultiplying)");
    for (const std::string& map : operands.maps()) f_.line("gart_prefetch_map(", map, ");");
    if (stores_boxes()) f_.line("gart_prefetch_map(", results_, ");");
    f_.close();
    f_.line("GART_SHARED(shared);");
    f_.line("Loop loop(shared);");
    tiles_ = int_text(f_, tile_count());
  }

  void open_tiles() {
    f_.line("#pragma unroll 1");
    f_.open("for (int tile = blockIdx.x; tile < ", tiles_, "; tile += gridDim.x)");
  }

  /// Declares the position of the tile, and its steps.
  Steps tile_position() {
    coordinates("tile");
    batch_ = {};
    p_.declare_batch(f_, batch_);
    Steps of_tile = steps(p_.tap_channels > 0 ? Dim(p_.taps * (box_channels(p_) / tile_.depth)) : all_steps());
    // The depth may be 0, or a split may start past its end. Then one step runs that adds zeros: its boxes are empty.
    if (tile_.splits > 1 || !p_.depth.is_constant()) of_tile.count = concat("gart_max(1, ", of_tile.count, ")");
    return of_tile;
  }

  void feed(const TiledOperands& operands) {
    const int ahead = copy_ahead(tile_.stages);
    f_.open("if (!loop.asks())");
    f_.line("gart_await_last_launch();");
    f_.line("return;");
    f_.close();
    open_tiles();
    const Steps of_tile = tile_position();
    operands.declare(f_);
    f_.open("if (tile == blockIdx.x)");
    if (ahead != 0) f_.line("loop.feed_ahead<", ahead, ">(left, right, ", of_tile.first, ", ", of_tile.count, ");");
    f_.line("gart_await_last_launch();");
    f_.close();
    f_.line("loop.feed<", ahead, ">(left, right, ", of_tile.first, ", ", of_tile.count, ");");
    f_.close();
    f_.line("return;");
  }

  /// Writes the code of the warpgroup that computes the low parts of factors (device/gart_f32_loop.cuh). Its number
  /// follows the multiplying warpgroups and precedes the feeding one.
  void make_rests() {
    f_.open("if (loop.splits())");
    f_.line("gart_await_last_launch();");
    open_tiles();
    f_.line("loop.make_rests(", tile_position().count, ");");
    f_.close();
    f_.line("return;");
    f_.close();
  }

  void compute_tile() {
    const Steps of_tile = tile_position();
    if (stores_boxes()) f_.line("const int box_row = row0 + loop.warp / 4 * 64;");
    if (reads_boxes() && sets_ == 1) ask_for_boxes("tile", "0");
    f_.line("Loop::Sums sums;");
    f_.line("loop.multiply(sums, ", of_tile.count, ");");
    if (reads_boxes() && sets_ == 2) ask_for_boxes("tile + gridDim.x", "loop.set ^ 1");
    f_.line("typedef Loop::Sums Sums;");
    if (tile_.splits > 1) return store_partial_sums();
    if (!stores_boxes()) return store_results();
    if (reads_boxes()) f_.line("if (box_row < ", int_text(f_, p_.rows), ") loop.await_boxes();");
    f_.line("#pragma unroll");
    f_.open("for (int chunk = 0; chunk < ", tile_.columns / box_columns(), "; ++chunk)");
    f_.line("const int chunk0 = column0 + chunk * ", box_columns(), ";");
    f_.line("if (chunk0 >= ", int_text(f_, p_.columns), " || box_row >= ", int_text(f_, p_.rows), ") break;");
    apply_epilogue();
    store_box();
    f_.close();
    if (sets_ == 2) f_.line("loop.set ^= 1;");
  }

  /// Requests the boxes that the epilogue of tile `number` reads, if there is such a tile. Warpgroups whose rows all
  /// lie below the matrix request none, because nothing would keep their warps in step.
  void ask_for_boxes(const std::string& number, const std::string& set) {
    const EvaluationPoint batch = batch_;
    f_.open("if (loop.is_leader)");
    f_.line("const int asked = ", number, ";");
    coordinates("asked");
    f_.line("const int box_row = row0 + loop.warp / 4 * 64, box_column = column0;");
    f_.open(concat("if (asked < ", tiles_, " && box_row < ", int_text(f_, p_.rows), ")"));
    batch_ = {};
    p_.declare_batch(f_, batch_);
    f_.line("const int at[", p_.boxes->read_view.dimensions.size(), "] = ", places(p_.boxes->read_view), ";");
    f_.line("loop.ask_for_boxes<", box_columns(), ">(", read_, ", at, ", set, ");");
    f_.close();
    f_.close();
    f_.line("__syncwarp();");
    batch_ = batch;
  }

  /// Replaces the sums of a chunk by results. Elements outside the matrix are computed at its last row and columns; the
  /// box store drops them.
  void apply_epilogue() {
    EvaluationPoint place = batch_;
    f_.line("#pragma unroll");
    f_.open("for (int eight = 0; eight < ", box_columns() / 8, "; ++eight)");
    f_.line("const int j0 = (chunk * ", box_columns() / 8, " + eight) * 2, same_row0 = gart_computed_again(row0);");
    f_.line("#pragma unroll");
    f_.open("for (int i = 0; i < Sums::kRows; ++i)");
    f_.line("const int row = gart_min(same_row0 + Sums::row(i), ", int_text(f_, p_.rows), " - 1);");
    p_.declare_row(f_, place);
    if (reads_boxes())
      f_.line("const gart_vector<", stored_type(p_.boxes->results.stored), ", 2> read = loop.in_box<",
              stored_type(p_.boxes->results.stored), ">(chunk, i, eight);");
    f_.line("#pragma unroll");
    f_.open("for (int j = j0; j < j0 + 2; j += ", vector_, ")");
    f_.line("const int column = gart_min(column0 + Sums::column(j), ", int_text(f_, p_.columns), " - ", vector_, ");");
    p_.declare_column(f_, place);
    if (reads_boxes()) epilogue_.know(p_.boxes->read, [&](int v) { return concat("read.at[j - j0 + ", v, "]"); });
    epilogue_.values(place, [](int v) { return v == 0 ? "sums.sum(i, j)" : concat("sums.sum(i, j + ", v, ")"); });
    for (int k = 0; k < 3; ++k) f_.close();
  }

  void store_box() {
    // The other lanes of the warp must have read the input before this lane's results overwrite it.
    if (reads_boxes()) f_.line("__syncwarp();");
    const std::string number = reads_boxes() ? "chunk" : "loop.next_box()";
    f_.line("const int number = ", number, ";");
    f_.line("loop.put<gart_box_", name_of(p_.boxes->results.stored), ">(number, sums, chunk);");
    f_.line("const int box_column = chunk0;");
    f_.line("const int at[", p_.boxes->results.dimensions.size(), "] = ", places(p_.boxes->results), ";");
    f_.line("loop.store(number, ", results_, ", at);");
  }

  std::string results_, read_, tiles_;  // names of two tensor maps, and the number of tiles as text
  int sets_ = box_sets(tile_, memory_constraints(p_));
};

}  // namespace

KernelText emit_tile_loop(const Kernel& kernel, const Product& product, const ProductTile& tile,
                          const std::string& kind) {
  return TileLoopText(kernel, product, tile).emit(kind);
}

}  // namespace gcg::cuda
