// Loop kernels: the points of the outer axes in order, and for each point the stages in order. Each stage is a nest
// around one vector loop.
#include <algorithm>
#include <bit>
#include <numeric>

#include "codegen/cpu/expressions/expr_emitter.h"
#include "codegen/cpu/llvm/emit.h"
#include "codegen/cpu/llvm/transpose.h"
#include "codegen/cpu/loops/axis_tables.h"
#include "codegen/cpu/loops/loop_plan.h"
#include "codegen/cpu/loops/reduce_stage.h"
#include "codegen/cpu/loops/rows_together.h"
#include "codegen/cpu/loops/single_elements.h"
#include "codegen/cpu/loops/store_row.h"
#include "codegen/cpu/loops/tile_plan.h"
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
    if (!plan_.by_runs && plan_.rows_together == 0)
      return for_each_point(f_, plan_.outer, plan_.points_per_task, point_, emit_point);
    for_each_run(f_, plan_.outer, plan_.points_per_task, point_,
                 [&](const PointRun& run) { plan_.by_runs ? emit_run(run) : emit_rows(run); });
  }

 private:
  /// Emits the rows of a run. If a run decides their length, rows shorter than a register have code of their own, and
  /// so do rows of one element, because masked stores take longer than plain ones.
  void emit_run(const PointRun& run) {
    const StagePlan& plan = plan_.stages[0];
    const auto any_row = [&] { return run.points(1, [&](int) { emit_store(plan, 0); }), Values{}; };
    if (plan.lane.extent.is_constant() || plan.native == 1) return void(any_row());
    const Range row = row_range(plan);
    Value* length = ir_.CreateSub(row.end, row.begin);
    const auto single = [&] { return emit_single_elements(run, row.begin), Values{}; };
    const auto short_row = [&](int) {
      const Range here = row_range(plan);
      emit_short_row(f_, plan, point_, here.begin, here.end);
    };
    const auto several = [&] {
      if (!plan.maskable) return any_row();
      Value* is_short = ir_.CreateICmpSLT(length, f_.i64(plan.native));
      return f_.if_else(is_short, [&] { return run.points(1, short_row), Values{}; }, any_row);
    };
    f_.if_else(ir_.CreateICmpEQ(length, f_.i64(1)), single, several);
  }

  /// Emits rows of one element each.
  void emit_single_elements(const PointRun& run, Value* at) {
    const StagePlan& plan = plan_.stages[0];
    const SingleElements rows(f_.kernel(), plan, plan_.outer.back());
    run.points(rows.together(), [&](int count) {
      count == 1 ? emit_single_element(f_, plan, point_, at) : rows.emit(f_, point_, at, count);
    });
  }

  using Arrays = std::map<int, llvm::AllocaInst*>;  // the result of each reduce stage by local, one element per row

  /// Emits several rows stage by stage.
  void emit_rows(const PointRun& run) {
    Value* together = f_.i64(plan_.rows_together);
    for (const StagePlan& s : plan_.stages)
      if (s.lane.id >= 0)
        together =
            ir_.CreateSelect(ir_.CreateICmpSLE(f_.dim(s.lane.extent), f_.i64(kLongestTogether)), together, f_.i64(1));
    f_.for_loop(run.begin, run.end, together, [&](Value* first) {
      Value* count = smin(together, ir_.CreateSub(run.end, first));
      Arrays results;
      for (const StagePlan& s : plan_.stages) {
        const int local = s.stage.local;
        if (s.stage.kind == Stage::Kind::reduce)
          results[local] = f_.take_memory(plan_.rows_together * size_of(s.stage.value->dtype));
        emit_stage_of_rows(s, run.axis.id, first, count, results);
      }
      for (const auto& [local, memory] : results) f_.give_memory(memory);
    });
  }

  void emit_stage_of_rows(const StagePlan& plan, int axis, Value* first, Value* count, const Arrays& results) {
    const bool is_store = plan.stage.kind == Stage::Kind::store;
    const int lanes = is_store && plan.lane.id < 0 && plan.maskable ? plan.native : 1;
    f_.for_loop(f_.i64(0), count, f_.i64(lanes), [&](Value* k) {
      const Point outside = point_;
      Value* mask = lanes == 1 ? nullptr : f_.first_lanes(ir_.CreateSub(count, k), lanes);
      if (lanes > 1) point_ = lanes_at(point_, axis, lanes, nullptr, mask);
      point_.axes[axis] = ir_.CreateAdd(first, k);
      for (const StagePlan& s : plan_.stages)
        if (&s < &plan && s.stage.kind == Stage::Kind::reduce)
          point_.locals[s.stage.local] = f_.load(results.at(s.stage.local), s.stage.value->dtype, k, lanes, mask);
      emit_stage(plan);
      if (!is_store)
        f_.store(point_.locals.at(plan.stage.local), results.at(plan.stage.local), plan.stage.value->dtype, k);
      point_ = outside;
    });
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

  /// A square tile: lanes from `column` on, of rows from `row` on. `rows`, `columns`: how many of them exist; null:
  /// all. `most`: a limit of `columns`.
  struct TileAt {
    int side, most;
    Value *row, *column;
    Value *rows = nullptr, *columns = nullptr;
  };

  /// Emits the rows of one block by tiles. The last tile may repeat columns. The remaining rows are emitted as rows.
  void emit_tile_rows(const StagePlan& plan) {
    Value* tile = f_.i64(plan.native);
    Value* first = ir_.CreateMul(point_.axes.at(plan_.block.id), tile);
    Value* rows = smin(ir_.CreateSub(f_.dim(plan.tile_row.extent), first), tile);
    Value* columns = f_.dim(plan.lane.extent);
    Value* last = ir_.CreateSub(columns, tile);
    Value* tiled = ir_.CreateAnd(columns, f_.i64(-int64_t{plan.native}));
    const bool is_narrow = plan.lane.extent.is_constant() && plan.lane.extent.constant() < plan.native;
    if (is_narrow)
      tiled = columns;
    else if (plan.overlaps)
      tiled = ir_.CreateSelect(ir_.CreateICmpSGE(last, f_.i64(0)), columns, f_.i64(0));
    const auto emit_tiles = [&](Value* end, Value* known_rows) {
      if (is_narrow) return emit_narrow_tiles(plan, plan.native, plan.native, first, known_rows, columns), Values{};
      f_.for_loop(f_.i64(0), end, tile, [&](Value* column) {
        emit_tile(plan, {plan.native, plan.native, first, plan.overlaps ? smin(column, last) : column, known_rows});
      });
      return Values{};
    };
    Value* whole = is_multiple(plan.tile_row.extent, plan.native) ? ir_.getTrue() : ir_.CreateICmpEQ(rows, tile);
    if (llvm::isa<llvm::Constant>(whole)) {
      emit_tiles(tiled, nullptr);
    } else if (plan.maskable) {
      f_.if_else(whole, [&] { return emit_tiles(tiled, nullptr); }, [&] { return emit_tiles(tiled, rows); });
    } else if (is_narrow) {
      const auto one_by_one = [&] { return emit_rows_of_tile(plan, first, rows, f_.i64(0), columns), Values{}; };
      return void(f_.if_else(whole, [&] { return emit_tiles(tiled, nullptr); }, one_by_one));
    } else {
      tiled = ir_.CreateSelect(whole, tiled, f_.i64(0));
      emit_tiles(tiled, nullptr);
    }
    if (tiled == columns) return;
    // Overlapping tiles leave no columns over, unless there are fewer than a tile has.
    if (plan.overlaps && plan.maskable)
      return f_.if_then(ir_.CreateICmpSLT(columns, tile), [&] { emit_few_columns(plan, first, rows, columns); });
    emit_rows_of_tile(plan, first, rows, tiled, columns);
  }

  void emit_rows_of_tile(const StagePlan& plan, Value* first, Value* rows, Value* begin, Value* end) {
    f_.for_loop(f_.i64(0), rows, f_.i64(1), [&](Value* row) {
      point_.axes[plan.tile_row.id] = ir_.CreateAdd(first, row);
      emit_store_row(f_, plan, point_, begin, end);
    });
  }

  /// Emits fewer columns than a tile has, whose number only a run knows: by the smallest tiles that have as many.
  void emit_few_columns(const StagePlan& plan, Value* first, Value* rows, Value* columns) {
    const int half = plan.native / 2;
    const auto tiles = [&](int side, int most) {
      return [&, side, most] {
        const auto emit = [&](Value* known_rows) {
          return [&, known_rows] { return emit_narrow_tiles(plan, side, most, first, known_rows, columns), Values{}; };
        };
        return f_.if_else(ir_.CreateICmpEQ(rows, f_.i64(plan.native)), emit(nullptr), emit(rows));
      };
    };
    const auto most = [&] {
      if (half < kFewestTiled) return tiles(plan.native, plan.native)();
      const int side = has_whole_blocks(plan.transposed, half) ? half : plan.native;
      return f_.if_else(ir_.CreateICmpSLE(columns, f_.i64(half)), tiles(side, half), tiles(plan.native, plan.native));
    };
    f_.if_else(
        ir_.CreateICmpSLT(columns, f_.i64(kFewestTiled)),
        [&] { return emit_columns_of_tile(plan, first, rows, columns), Values{}; }, most);
  }

  /// Emits the rows of one block by tiles that have more lanes than there are columns.
  void emit_narrow_tiles(const StagePlan& plan, int side, int most, Value* first, Value* rows, Value* columns) {
    for (int done = 0; done < plan.native; done += side) {
      Value* left = rows == nullptr ? nullptr : ir_.CreateSub(rows, f_.i64(done));
      const auto tile = [&] {
        emit_tile(plan, {side, most, ir_.CreateAdd(first, f_.i64(done)), f_.i64(0), left, columns});
      };
      left == nullptr || done == 0 ? tile() : f_.if_then(ir_.CreateICmpSGT(left, f_.i64(0)), tile);
    }
  }

  /// Emits each column of a few by one vector of the tile's rows: its loads are contiguous, and its stores scattered.
  void emit_columns_of_tile(const StagePlan& plan, Value* first, Value* rows, Value* columns) {
    f_.for_loop(f_.i64(0), columns, f_.i64(1), [&](Value* column) {
      point_.axes[plan.lane.id] = column;
      const Point p = lanes_at(point_, plan.tile_row.id, plan.native, first, f_.first_lanes(rows, plan.native));
      exprs_.store(plan.stage.operand, plan.stage.index, plan.stage.value, p);
    });
  }

  /// Columns behind the last one are loaded from the last one, and are not stored.
  void emit_tile(const StagePlan& plan, const TileAt& tile) {
    std::vector<std::map<const ExprNode*, Value*>> known(static_cast<size_t>(tile.side));
    const Expr first = axis_ref(plan_.block) * index(plan.native);
    for (const Expr& load : plan.transposed) {
      const Expr in_tile = in_run(load, plan.tile_row, plan.native, first);
      Values vectors;
      for (int j = 0; j < tile.side; ++j) {
        Value* column = tile.columns == nullptr ? f_.i64(j) : smin(f_.i64(j), ir_.CreateSub(tile.columns, f_.i64(1)));
        Point p = lanes_at(point_, plan.tile_row.id, tile.side, tile.row, nullptr);
        if (tile.rows != nullptr) p.mask = f_.first_lanes(tile.rows, tile.side);
        p.axes[plan.lane.id] = ir_.CreateAdd(tile.column, column);
        const auto* at = llvm::dyn_cast<llvm::ConstantInt>(column);
        const bool exists = j < tile.most && (at == nullptr || at->getSExtValue() == j);
        vectors.push_back(exists ? exprs_.evaluate(in_tile, p) : llvm::PoisonValue::get(vectors[0]->getType()));
      }
      vectors = emit_transpose(f_, vectors);
      for (size_t k = 0; k < vectors.size(); ++k) known[k][load.get()] = vectors[k];
    }
    for (int k = 0; k < tile.side; ++k) {
      const auto store = [&] { store_tile_row(plan, tile, k, known[static_cast<size_t>(k)]); };
      tile.rows == nullptr ? store() : f_.if_then(ir_.CreateICmpSLT(f_.i64(k), tile.rows), store);
    }
  }

  /// Stores a row in one register: whole, masked, or in parts if masked stores are slow or missing.
  void store_tile_row(const StagePlan& plan, const TileAt& tile, int k,
                      const std::map<const ExprNode*, Value*>& transposed) {
    const auto store = [&](int begin, int lanes, Value* mask) {
      Point p = lane_point(plan, lanes, ir_.CreateAdd(tile.column, f_.i64(begin)), mask);
      p.axes[plan.tile_row.id] = ir_.CreateAdd(tile.row, f_.i64(k));
      for (const auto& [load, vector] : transposed) p.known[load] = lanes_of(vector, begin, lanes);
      exprs_.store(plan.stage.operand, plan.stage.index, plan.stage.value, p);
    };
    const auto* few = tile.columns == nullptr ? nullptr : llvm::dyn_cast<llvm::ConstantInt>(tile.columns);
    const auto columns = few == nullptr ? unsigned{0} : static_cast<unsigned>(few->getSExtValue());
    if (tile.columns == nullptr) return store(0, tile.side, nullptr);
    if (plan.maskable && !std::has_single_bit(columns))
      return store(0, tile.side, f_.first_lanes(tile.columns, tile.side));
    for (unsigned begin = 0; begin < columns; begin += std::bit_floor(columns - begin))
      store(static_cast<int>(begin), static_cast<int>(std::bit_floor(columns - begin)), nullptr);
  }

  Value* lanes_of(Value* vector, int begin, int lanes) {
    if (lanes == 1) return ir_.CreateExtractElement(vector, static_cast<uint64_t>(begin));
    std::vector<int> places(static_cast<size_t>(lanes));
    std::iota(places.begin(), places.end(), begin);
    return lanes == FunctionBuilder::lanes_of(vector) ? vector : ir_.CreateShuffleVector(vector, places);
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
  if (plan.rows_together > 0) text += concat(" or ", plan.rows_together, " short rows together");
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
  plan_rows_together(f.target(), f.kernel().operands, plan);
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
