// ThreadMapping::tiles: data that is contiguous along one axis and stored along another passes through shared memory.
#include <algorithm>

#include "codegen/cuda/loops/loop_text.h"
#include "compiler/kernel/loop_planning.h"

namespace gcg::cuda {
namespace {

constexpr int kTile = 32;

class TilesText : public LoopText {
 public:
  TilesText(const Kernel& kernel, const LoopPlan& plan) : LoopText(kernel, plan) {}
  KernelText emit();

 private:
  /// Visits this thread's elements of the tile: every 8th row (`row_part` is "far") or every 8th column.
  void emit_tile_pass(const std::string& row, const std::string& column, const std::string& row_part,
                      const std::string& column_part,
                      const std::function<void(const EvaluationPoint&, const std::string&)>& body);
  /// Replaces every load that passed through a tile by its value there, at `at`.
  void know_transposed(EvaluationPoint& place, const std::string& at);
};

KernelText TilesText::emit() {
  const StagePlan& s = plan_.stages[0];
  std::vector<Axis> axes = plan_.outer;
  axes.push_back({plan_.tile_row.id, ceil_div(plan_.tile_row.extent, Dim(kTile))});
  axes.push_back({s.lane.id, ceil_div(s.lane.extent, Dim(kTile))});
  const Dim tiles = extent_of(axes);
  f_.ranges().add(plan_.tile_row);
  const std::string tile = number("tile", tiles, "blockIdx.x", "blockIdx.x");
  const std::vector<std::string> names = f_.coordinates(axes, {tile, !fits(tiles)});
  for (size_t k = 0; k < plan_.outer.size(); ++k) place_.axes[axes[k].id] = names[k];
  const std::string row = names[names.size() - 2], column = names.back();
  f_.line("const int near = threadIdx.x % ", kTile, ", far = threadIdx.x / ", kTile, ";");
  for (size_t k = 0; k < plan_.transposed.size(); ++k)
    f_.line("__shared__ ", stored_type(plan_.transposed[k]->dtype), " x", k, "[", kTile, "][", kTile + 1, "];");
  emit_tile_pass(row, column, "near", "far", [&](const EvaluationPoint& place, const std::string& far) {
    for (size_t k = 0; k < plan_.transposed.size(); ++k) {
      const std::string value = ExprText(f_, place).value(plan_.transposed[k]);
      f_.line("x", k, "[", far, "][near] = ", value, ";");
    }
  });
  f_.line("__syncthreads();");
  emit_tile_pass(row, column, "far", "near", [&](EvaluationPoint place, const std::string& far) {
    know_transposed(place, concat("[near][", far, "]"));
    emit_store(s, place);
  });
  KernelText text = f_.finish("loop", plan_.threads);
  text.tasks = tiles;
  text.note = concat("transposed ", plan_.tile_row.extent.str(), " x ", s.lane.extent.str(), " in tiles");
  return text;
}

void TilesText::emit_tile_pass(const std::string& row, const std::string& column, const std::string& row_part,
                               const std::string& column_part,
                               const std::function<void(const EvaluationPoint&, const std::string&)>& body) {
  const StagePlan& s = plan_.stages[0];
  const std::string step = f_.fresh("j"), far = f_.fresh("far"), r = f_.fresh("r"), c = f_.fresh("c");
  f_.line("#pragma unroll");
  f_.open("for (int ", step, " = 0; ", step, " < ", kTile, "; ", step, " += ", plan_.threads / kTile, ")");
  f_.line("const int ", far, " = far + ", step, ";");
  auto coordinate = [&](const Axis& axis, const std::string& name, const std::string& tile, const std::string& part) {
    f_.line("const ", index_type(f_.ranges().of_axis(axis.id)), " ", name, " = ", tile, " * ", kTile, " + ",
            part == "far" ? far : part, ";");
  };
  coordinate(plan_.tile_row, r, row, row_part);
  coordinate(s.lane, c, column, column_part);
  f_.open("if (", r, " < ", f_.dim(plan_.tile_row.extent).text, " && ", c, " < ", f_.dim(s.lane.extent).text, ")");
  EvaluationPoint place = place_;
  place.axes[plan_.tile_row.id] = r;
  place.axes[s.lane.id] = c;
  body(place, far);
  f_.close();
  f_.close();
}

void TilesText::know_transposed(EvaluationPoint& place, const std::string& at) {
  visit(plan_.stages[0].stage.value, [&](const ExprNode& n) {
    if (n.kind != ExprKind::load) return;
    for (size_t k = 0; k < plan_.transposed.size(); ++k) {
      const ExprNode& tile = *plan_.transposed[k];
      if (n.operand != tile.operand || n.guarded ||
          !std::equal(n.args.begin(), n.args.end(), tile.args.begin(), tile.args.end(),
                      [](const Expr& a, const Expr& b) { return key(a) == key(b); }))
        continue;
      const std::string value = concat("x", k, at);
      place.known[&n] = n.dtype == DType::boolean ? concat("(", value, " != 0)") : value;
    }
  });
}

}  // namespace

KernelText emit_tiles(const Kernel& kernel, const LoopPlan& plan) { return TilesText(kernel, plan).emit(); }

}  // namespace gcg::cuda
