// Loop kernels: the points of the outer axes in order, and for each point the stages in order. Each stage is a nest
// around one vector loop.
#include <algorithm>

#include "codegen/cpu/expressions/expr_emitter.h"
#include "codegen/cpu/llvm/emit.h"
#include "codegen/cpu/llvm/transpose.h"
#include "codegen/cpu/loops/axis_tables.h"
#include "codegen/cpu/loops/loop_plan.h"
#include "codegen/cpu/loops/reduce_stage.h"
#include "codegen/cpu/loops/store_row.h"
#include "codegen/cpu/loops/vector_row.h"
#include "compiler/kernel/access_analysis.h"
#include "compiler/kernel/loop_planning.h"
#include "compiler/support/error.h"

namespace gcg::cpu {
namespace {

using llvm::Value;
using Values = FunctionBuilder::Values;

struct Range {
  Value* begin;
  Value* end;
};

class LoopKernelEmitter {
 public:
  LoopKernelEmitter(FunctionBuilder& f, const LoopPlan& plan) : f_(f), ir_(f.ir()), exprs_(f), plan_(plan) {}

  void emit() {
    const auto emit_point = [&] { plan_.columns.id >= 0 ? emit_columns() : emit_stages(); };
    if (!plan_.by_runs) return for_each_point(f_, plan_.outer, plan_.points_per_task, point_, emit_point);
    for_each_run(f_, plan_.outer, plan_.points_per_task, point_, [&](const EmitPoints& points) { emit_run(points); });
  }

 private:
  /// Emits the rows of a run. If a run decides their length, rows shorter than a register have code of their own, and
  /// so do rows of one element, because masked stores take longer than plain ones.
  void emit_run(const EmitPoints& points) {
    const StagePlan& plan = plan_.stages[0];
    const auto any_row = [&] { emit_store(plan, 0); };
    if (plan.lane.extent.is_constant() || !plan.maskable || plan.native == 1) return points(any_row);
    const auto short_row = [&] {
      const Range row = row_range(plan);
      emit_short_row(f_, plan, point_, row.begin, row.end);
    };
    const Range row = row_range(plan);
    Value* length = ir_.CreateSub(row.end, row.begin);
    const auto single = [&] { return points([&] { emit_single_element(f_, plan, point_, row.begin); }), Values{}; };
    const auto several = [&] { return points(short_row), Values{}; };
    const auto few = [&] { return f_.if_else(ir_.CreateICmpEQ(length, f_.i64(1)), single, several); };
    f_.if_else(ir_.CreateICmpSLT(length, f_.i64(plan.native)), few, [&] { return points(any_row), Values{}; });
  }

  void emit_stages() {
    for (const StagePlan& stage : plan_.stages) emit_stage(stage);
  }

  void emit_stages(Value* column, int lanes, Value* mask) {
    const Point outside = point_;
    point_.axes[plan_.columns.id] = column;
    point_.lane_axis = plan_.columns.id;
    point_.lanes = lanes;
    point_.mask = mask;
    emit_stages();
    point_ = outside;
  }

  /// Emits all stages for the columns of one block. A whole block is processed at once. The columns of a partial block
  /// are processed in masked registers, or one by one.
  void emit_columns() {
    const int together = plan_.columns_together, few = plan_.columns_at_end;
    Value* first = ir_.CreateMul(point_.axes.at(plan_.block.id), f_.i64(together));
    if (is_multiple(plan_.columns.extent, together)) return emit_stages(first, together, nullptr);
    Value* extent = f_.dim(plan_.columns.extent);
    Value* rest = ir_.CreateSub(extent, first);
    auto whole = [&] {
      emit_stages(first, together, nullptr);
      return Values{};
    };
    auto piecewise = [&] {
      f_.for_loop(first, extent, f_.i64(few), [&](Value* column) {
        emit_stages(column, few, few == 1 ? nullptr : f_.first_lanes(ir_.CreateSub(extent, column), few));
      });
      return Values{};
    };
    f_.if_else(ir_.CreateICmpSGE(rest, f_.i64(together)), whole, piecewise);
  }

  void emit_stage(const StagePlan& plan) {
    if (plan.stage.kind == Stage::Kind::store)
      emit_store(plan, 0);
    else
      point_.locals[plan.stage.local] = emit_reduce_stage(f_, plan, point_);
  }

  void emit_store(const StagePlan& plan, size_t depth) {
    const Stage& stage = plan.stage;
    if (depth < plan.loops.size()) {
      f_.for_loop(f_.i64(0), f_.dim(plan.loops[depth].extent), f_.i64(1), [&](Value* i) {
        point_.axes[plan.loops[depth].id] = i;
        emit_store(plan, depth + 1);
      });
      return;
    }
    if (plan.lane.id < 0) return exprs_.store(stage.operand, stage.index, stage.value, point_);
    if (!plan.transposed.empty()) return emit_tile_rows(plan);
    const Range row = row_range(plan);
    emit_store_row(f_, plan, point_, row.begin, row.end);
  }

  /// Emits the rows of one block by tiles. The last tile may repeat columns. The remaining rows are emitted as rows.
  void emit_tile_rows(const StagePlan& plan) {
    Value* tile = f_.i64(plan.native);
    Value* first = ir_.CreateMul(point_.axes.at(plan_.block.id), tile);
    Value* rows = smin(ir_.CreateSub(f_.dim(plan.tile_row.extent), first), tile);
    Value* columns = f_.dim(plan.lane.extent);
    Value* last = ir_.CreateSub(columns, tile);
    Value* tiled = ir_.CreateAnd(columns, f_.i64(-int64_t{plan.native}));
    if (plan.overlaps) tiled = ir_.CreateSelect(ir_.CreateICmpSGE(last, f_.i64(0)), columns, f_.i64(0));
    const auto emit_tiles = [&](Value* end, Value* known_rows) {
      f_.for_loop(f_.i64(0), end, tile, [&](Value* column) {
        emit_tile(plan, first, plan.overlaps ? smin(column, last) : column, known_rows);
      });
      return Values{};
    };
    Value* whole = is_multiple(plan.tile_row.extent, plan.native) ? ir_.getTrue() : ir_.CreateICmpEQ(rows, tile);
    if (llvm::isa<llvm::Constant>(whole)) {
      emit_tiles(tiled, nullptr);
    } else if (plan.maskable) {
      f_.if_else(whole, [&] { return emit_tiles(tiled, nullptr); }, [&] { return emit_tiles(tiled, rows); });
    } else {
      tiled = ir_.CreateSelect(whole, tiled, f_.i64(0));
      emit_tiles(tiled, nullptr);
    }
    if (tiled == columns) return;
    // Overlapping tiles leave no columns over, unless there are fewer than a tile has.
    if (plan.overlaps && plan.maskable)
      return f_.if_then(ir_.CreateICmpSLT(columns, tile), [&] { emit_columns_of_tile(plan, first, rows, columns); });
    f_.for_loop(f_.i64(0), rows, f_.i64(1), [&](Value* row) {
      point_.axes[plan.tile_row.id] = ir_.CreateAdd(first, row);
      emit_store_row(f_, plan, point_, tiled, columns);
    });
  }

  /// Emits each column of a few by one vector of the tile's rows: its loads are contiguous, and its stores scattered.
  void emit_columns_of_tile(const StagePlan& plan, Value* first, Value* rows, Value* columns) {
    f_.for_loop(f_.i64(0), columns, f_.i64(1), [&](Value* column) {
      point_.axes[plan.lane.id] = column;
      const Point p = lanes_at(point_, plan.tile_row.id, plan.native, first, f_.first_lanes(rows, plan.native));
      exprs_.store(plan.stage.operand, plan.stage.index, plan.stage.value, p);
    });
  }

  /// `rows`: the number of rows of the tile; null: a full tile.
  void emit_tile(const StagePlan& plan, Value* row, Value* column, Value* rows) {
    std::vector<std::map<const ExprNode*, Value*>> known(static_cast<size_t>(plan.native));
    const Expr first = axis_ref(plan_.block) * index(plan.native);
    for (const Expr& load : plan.transposed) {
      const Expr in_tile = in_run(load, plan.tile_row, plan.native, first);
      Values vectors;
      for (int j = 0; j < plan.native; ++j) {
        Point p = point_;
        p.lane_axis = plan.tile_row.id;
        p.lanes = plan.native;
        if (rows != nullptr) p.mask = f_.first_lanes(rows, plan.native);
        p.axes[plan.tile_row.id] = row;
        p.axes[plan.lane.id] = ir_.CreateAdd(column, f_.i64(j));
        vectors.push_back(exprs_.evaluate(in_tile, p));
      }
      vectors = emit_transpose(f_, vectors);
      for (size_t k = 0; k < vectors.size(); ++k) known[k][load.get()] = vectors[k];
    }
    for (int k = 0; k < plan.native; ++k) {
      Point p = lane_point(plan, plan.native, column, nullptr);
      p.axes[plan.tile_row.id] = ir_.CreateAdd(row, f_.i64(k));
      p.known = known[static_cast<size_t>(k)];
      const auto store = [&] { exprs_.store(plan.stage.operand, plan.stage.index, plan.stage.value, p); };
      rows == nullptr ? store() : f_.if_then(ir_.CreateICmpSLT(f_.i64(k), rows), store);
    }
  }

  Value* smin(Value* a, Value* b) { return ir_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, a, b); }

  Point lane_point(const StagePlan& plan, int lanes, Value* i, Value* mask) {
    return lanes_at(point_, plan.lane.id, lanes, i, mask);
  }

  /// The part of the vector axis that one point covers.
  Range row_range(const StagePlan& plan) {
    Value* end = f_.dim(plan.lane.extent);
    if (plan_.row_block == 0) return {f_.i64(0), end};
    Value* begin = ir_.CreateMul(point_.axes.at(plan_.block.id), f_.i64(plan_.row_block));
    return {begin,
            ir_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, ir_.CreateAdd(begin, f_.i64(plan_.row_block)), end)};
  }

  FunctionBuilder& f_;
  llvm::IRBuilder<>& ir_;
  ExprEmitter exprs_;
  const LoopPlan& plan_;
  Point point_;
};

std::string describe(const LoopPlan& plan) {
  std::string text =
      concat("points ", plan.points.str(), plan.by_runs ? concat(" by runs of ", plan.outer.back().extent.str()) : "");
  if (plan.columns.id >= 0) text += concat(" of ", plan.columns_together, " columns");
  for (const StagePlan& stage : plan.stages)
    text += concat(stage.stage.kind == Stage::Kind::store ? ", store " : ", reduce ",
                   stage.lane.id < 0 ? "1" : stage.lane.extent.str(), " by ", stage.wide,
                   stage.transposed.empty() ? "" : " in transposed tiles", stage.interior ? " between borders" : "",
                   stage.shared ? concat(" times ", stage.shared->axis.extent.str()) : "",
                   stage.may_be_short ? " or at once" : "");
  return text;
}

}  // namespace

KernelEmission emit_body(FunctionBuilder& f, const Kernel& kernel, const LoopKernel& loop) {
  LoopPlan plan = plan_loops(f.target(), kernel, loop);
  const AxisTables tabulated = tabulate_axes(f, loop, plan);
  if (!tabulated.tables.empty()) plan = plan_loops(f.target(), f.kernel(), tabulated.loop, tabulated.rising);
  if (plan.kept_row) f.add_array(plan.kept_row->dtype, plan.kept_row->shape[0]);
  emit_axis_tables(f, tabulated.tables);
  const std::vector<AxisTable> at_ends = tabulate_ends(f, plan);
  emit_end_tables(f, plan.stages[0], at_ends);
  LoopKernelEmitter(f, plan).emit();
  KernelEmission result;
  result.scratch_bytes = array_offset(f.kernel(), f.kernel().operands.size());
  result.tasks = ceil_div(plan.points, plan.points_per_task);
  result.note = describe(plan);
  return result;
}

}  // namespace gcg::cpu
