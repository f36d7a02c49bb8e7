#include "codegen/cpu/loops/loop_plan.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>

#include "codegen/cpu/expressions/expr_emitter.h"
#include "codegen/cpu/expressions/partial_sums.h"
#include "codegen/cpu/expressions/rounded_quotient.h"
#include "codegen/cpu/loops/axis_phases.h"
#include "codegen/cpu/loops/lane_cost.h"
#include "codegen/cpu/loops/point_work.h"
#include "codegen/cpu/loops/row_runs.h"
#include "codegen/cpu/loops/split_lines.h"
#include "codegen/cpu/loops/tile_plan.h"
#include "compiler/kernel/access_analysis.h"
#include "compiler/kernel/flat_loops.h"
#include "compiler/kernel/loop_planning.h"
#include "compiler/kernel/typical_extent.h"

namespace gcg::cpu {
namespace {

constexpr int64_t kRowBlock = 16384;   // elements
constexpr int64_t kSharedBlock = 256;  // elements of a block if each has an inner loop

/// True if the stage reduces elements over loops and does little else with them.
bool sums_plain_columns(const Expr& e) {
  constexpr int kFewNodes = 24;
  constexpr int64_t kWindow = 16;
  bool loops = false;
  visit(e, [&](const ExprNode& n) {
    for (const Axis& a : n.reduce_axes) loops = loops || !a.extent.is_constant() || a.extent.constant() > kWindow;
  });
  return loops && !is_long_chain(e) && count_nodes(e) <= kFewNodes;
}

/// True if `e` becomes bytes, which are packed from four registers of floats.
bool is_quantized(const Expr& e) { return quantization_of(e) || late_quantization_of(e); }

/// True for a reduction whose result depends on the order of its elements; its vector axis must be the last one.
bool is_ordered(const Stage& stage) {
  return stage.kind == Stage::Kind::reduce && depends_on_order(stage.reduce, stage.value->dtype);
}

/// The axes along which vectors of the stage may run.
std::vector<Axis> lane_axes(const CpuTarget& target, const Stage& stage, const std::vector<Axis>& axes,
                            const std::vector<Operand>& operands) {
  if (!is_ordered(stage) || axes.empty()) return axes;
  // A row that follows others may start with any of the partial sums. This takes as long as adding some elements.
  const int shortest = is_maskable(target, stage, operands) ? 5 : 16;
  if (axes.size() > 1 && typical(axes.back().extent) < shortest) return {};
  return {axes.back()};
}

/// Lanes of the main loop: several registers, so that work is independent; fewer if the row is short or registers are
/// few.
int main_lanes(const CpuTarget& target, const StagePlan& plan, const Stage& stage,
               const std::vector<Operand>& operands) {
  if (is_scattered(stage, operands, plan.lane)) return plan.native;
  if (plan.by_registers && stage.kind == Stage::Kind::reduce) return plan.native;
  if (is_ordered(stage)) return partial_sum_count(stage.value->dtype);
  if (plan.interior && has_reduction(stage.value)) return plan.native;
  int unroll = target.vector_registers >= 32 || is_long_chain(stage.value) || is_quantized(stage.value) ? 4 : 2;
  if (count_nodes(stage.value) > 40) unroll /= 2;
  // Sums as many columns at once as registers allow, and as fit half of an L1 with their partial sums. Each row of
  // these columns is then read a few cache lines at a time.
  if (sums_plain_columns(stage.value)) unroll = std::min(target.vector_registers / 2, 8);
  if (plan.stage.kind == Stage::Kind::reduce) unroll = std::max(unroll, 4);
  while (unroll > 1 && plan.lane.extent.is_constant() && plan.lane.extent.constant() < int64_t{unroll} * plan.native)
    unroll /= 2;
  return plan.native * unroll;
}

/// True if `lane` steps over elements that lie along `minor`.
bool interleaves(const Stage& stage, const std::vector<Operand>& operands, const Axis& lane, const Axis& minor) {
  if (minor.id < 0 || lane.id == minor.id) return false;
  const Operand& result = operands[static_cast<size_t>(stage.operand)];
  const auto step = address_stride(result, stage.index, lane.id), inner = address_stride(result, stage.index, minor.id);
  return step && inner && inner->is(1) && *step == minor.extent;
}

/// The axis of `axes` that a vector axis may step over; id -1: none. There is none if indices depend on data: such
/// indices need range checks, and an interleaved store cannot check them.
Axis minor_axis(const Stage& stage, const std::vector<Axis>& axes, const std::vector<Operand>& operands) {
  if (std::any_of(stage.index.begin(), stage.index.end(), is_data)) return {};
  for (const Axis& minor : axes)
    if (is_interleaving(minor.extent) &&
        std::any_of(axes.begin(), axes.end(), [&](const Axis& a) { return interleaves(stage, operands, a, minor); }))
      return minor;
  return {};
}

/// True if the result may share an operand's memory. Then each point reads that operand only where it writes
/// (in_place.cpp).
bool reads_where_it_writes(const Stage& stage) {
  bool reads = false;
  visit(stage.value, [&](const ExprNode& n) {
    if (n.kind != ExprKind::load || n.args.size() != stage.index.size()) return;
    reads = reads || std::equal(n.args.begin(), n.args.end(), stage.index.begin(),
                                [](const Expr& a, const Expr& b) { return key(a) == key(b); });
  });
  return reads;
}

/// True if a store does so little that masked stores at the end of a row take longer than narrower stores.
bool stage_is_copy(const CpuTarget& target, const Stage& stage) {
  constexpr int kFewNodes = 12;
  return target.isa == Isa::avx2 && stage.kind == Stage::Kind::store && count_nodes(stage.value) <= kFewNodes &&
         !is_long_chain(stage.value);
}

int native_lanes(const CpuTarget& target, const Stage& stage) {
  return std::max(1, target.vector_bytes / static_cast<int>(lane_bytes(stage)));
}

/// The parts of a store along the axis of its vectors.
struct Row {
  int lanes = 1;  // lanes of a register
  std::optional<RowInterior> interior;
  std::vector<Expr> values;
  Stage middle;  // the stage for most lanes
  bool in_tiles = false;
};

/// If a row is too short for an interior of whole registers, narrower registers may fit.
void find_interior(Row& row, const Axis& axis) {
  constexpr int kFewestLanes = 4;
  for (int lanes = row.lanes; lanes >= std::min(kFewestLanes, row.lanes); lanes /= 2) {
    row.interior = row_interior(row.values, axis, lanes);
    if (!row.interior) return;
    if (is_wide(*row.interior, lanes)) {
      row.lanes = lanes;
      return;
    }
  }
  row.interior.reset();
}

/// True if a row fills half a register, or if it is shorter than a register that cannot be masked.
bool is_short(const StagePlan& plan) {
  if (!plan.lane.extent.is_constant()) return false;
  const int64_t extent = std::max<int64_t>(1, plan.lane.extent.constant());
  return extent < plan.native && (!plan.maskable || extent == plan.native / 2);
}

/// The number of lanes of a masked register that holds the whole row. Then the position of each lane's load is known.
/// 0: the row does not fit.
int register_of_row(const CpuTarget& target, const Stage& stage, const Axis& lane, const std::vector<Operand>& all) {
  const int lanes = native_lanes(target, stage);
  if (!lane.extent.is_constant() || lane.extent.constant() > lanes) return 0;
  return is_maskable(target, stage, all) && !has_masked_load(stage.value, lane) ? lanes : 0;
}

constexpr double kTurnedLoads = 4;  // the cost of single strided loads, relative to loads by tiles

/// Chooses the vector axis from `axes` and sets everything except the outer loops.
StagePlan plan_stage(const CpuTarget& target, Stage stage, std::vector<Axis> axes,
                     const std::vector<Operand>& operands) {
  StagePlan plan;
  Axis minor;
  if (stage.kind == Stage::Kind::store) minor = minor_axis(stage, axes, operands);
  plan.native = native_lanes(target, stage);
  const bool overlaps = stage.kind == Stage::Kind::store && !reads_where_it_writes(stage);
  std::vector<Row> rows;  // one per axis
  const std::vector<Axis> candidates = lane_axes(target, stage, axes, operands);
  const auto best = best_lane(stage, candidates, [&](const Stage&, const Axis& axis) {
    const bool steps = interleaves(stage, operands, axis, minor);
    Row row;
    row.values = steps ? phases_of(stage.value, minor) : std::vector{stage.value};
    row.lanes = plan.native;
    const int side = overlaps ? row_of_tile(stage, axis, axes, operands, plan.native) : 0;
    const bool is_tile = side > 0 && axis.extent.is(side);
    if (overlaps && !is_tile) find_interior(row, axis);
    row.in_tiles = side > 0 && !row.interior;
    if (row.in_tiles) row.lanes = side;
    row.middle = stage;
    row.middle.value = row.interior ? row.interior->values[0] : row.values[0];
    const double cost = lane_cost(row.middle, operands, axis, row.lanes, steps);
    rows.push_back(std::move(row));
    return rows.back().in_tiles && !is_tile ? cost / kTurnedLoads : cost;
  });
  plan.stage = std::move(stage);
  if (best) {
    plan.native = rows[*best].lanes;
    plan.interior = std::move(rows[*best].interior);
    plan.values = std::move(rows[*best].values);
    const Stage middle = std::move(rows[*best].middle);
    plan.lane = candidates[*best];
    const int whole = plan.interior ? register_of_row(target, plan.stage, plan.lane, operands) : 0;
    if (whole > 0) plan.interior.reset(), plan.native = whole;
    std::erase_if(axes, [&](const Axis& a) { return a.id == plan.lane.id; });
    plan.maskable = is_maskable(target, plan.stage, operands);
    while (plan.native > 1 && !rows[*best].in_tiles && is_short(plan)) plan.native /= 2;
    plan.overlaps = overlaps;
    plan.tail_in_halves = stage_is_copy(target, plan.stage);
    if (interleaves(plan.stage, operands, plan.lane, minor)) {
      plan.minor = minor;
      std::erase_if(axes, [&](const Axis& a) { return a.id == minor.id; });
    }
    plan.by_registers = has_masked_load(middle.value, plan.lane) || has_interleaved_load(middle, operands, plan.lane);
    plan.wide = plan.minor.id < 0 ? main_lanes(target, plan, middle, operands) : plan.native;
  }
  plan.loops = std::move(axes);
  plan.narrow_ends = plan.interior && has_narrow_ends(*plan.interior, plan.native);
  if (plan.interior)
    plan.ends = plan_ends(plan.stage, *plan.interior, plan.native, gathers(plan.stage, operands, plan.lane));
  return plan;
}

/// Plans rows for points at which the axes of the outer loops are in their middle, too.
void plan_inner_rows(StagePlan& plan, const std::vector<Axis>& outer) {
  if (!plan.interior) return;
  std::vector<Expr> values = plan.values;
  for (const Axis& axis : outer) {
    auto inner = row_interior(values, axis, 1);
    if (!inner) continue;
    values = inner->values;
    plan.inner_rows.push_back(std::move(*inner));
  }
  if (!plan.inner_rows.empty()) plan.inner = row_interior(values, plan.lane, plan.native);
}

/// Windows over a row are slow without an interior. A row whose length only a run knows may be too short for an
/// interior of whole registers. Then an interior of half registers may fit.
void plan_narrower(StagePlan& plan) {
  constexpr int kFewestLanes = 8;
  if (!plan.interior || !plan.narrow_ends || plan.lane.extent.is_constant() || plan.native / 2 < kFewestLanes ||
      plan.minor.id >= 0 || !has_reduction(plan.stage.value))
    return;
  auto narrower = std::make_shared<StagePlan>(plan);
  narrower->native = narrower->wide = plan.native / 2;
  narrower->interior = row_interior(plan.values, plan.lane, narrower->native);
  narrower->narrow_ends = has_narrow_ends(*narrower->interior, narrower->native);
  narrower->inner.reset();
  narrower->inner_rows.clear();
  if (narrower->narrow_ends) plan.narrower = std::move(narrower);
}

/// Reads loads that are strided along the vector axis by tiles, if they run along one of the `axes`.
void plan_tiles(const CpuTarget& target, StagePlan& plan, std::vector<Axis>& axes,
                const std::vector<Operand>& operands) {
  const int whole = target.vector_bytes / static_cast<int>(lane_bytes(plan.stage));
  const int side = tile_side(plan.stage, plan.lane, whole);
  const bool fits = plan.native == whole || plan.native == side;
  if (plan.lane.id < 0 || plan.interior || plan.minor.id >= 0 || !fits) return;
  auto tile = tile_of(plan.stage, plan.lane, axes, operands, side, plan.maskable ? side / 2 : side);
  if (!tile) return;
  if (side != plan.native) plan.native = plan.wide = side;
  plan.transposed = std::move(tile->transposed);
  plan.tile_row = axes[tile->row];
  axes.erase(axes.begin() + static_cast<std::ptrdiff_t>(tile->row));
}

/// Moves an axis of the outer loops into the vector loop if that saves most of its work.
void plan_shared_work(StagePlan& plan, std::vector<Axis>& outer, const std::set<int>& rising) {
  if (plan.lane.id < 0 || plan.interior || plan.minor.id >= 0 || !plan.transposed.empty()) return;
  plan.shared = shared_work(plan.stage, plan.lane, outer, rising);
  if (plan.shared) std::erase_if(outer, [&](const Axis& a) { return a.id == plan.shared->axis.id; });
}

Dim stage_work(const StagePlan& plan) {
  Dim sum = work_of(plan.stage.value);
  for (const Axis& a : plan.loops) sum = sum * a.extent;
  if (plan.minor.id >= 0) sum = sum * plan.minor.extent;
  if (plan.shared) sum = sum * plan.shared->axis.extent;
  return plan.lane.id < 0 ? sum : sum * plan.lane.extent;
}

/// Plans a single store. All its axes are parallel, so every axis except the vector axis becomes part of the points.
void plan_single_store(const CpuTarget& target, const Kernel& kernel, const LoopKernel& loop,
                       const std::set<int>& rising, LoopPlan& plan) {
  Stage stage = loop.stages[0];
  std::vector<Axis> axes = stage.axes;
  split_phases(stage, axes, kernel.operands, fresh_axis_id(loop) + 1);
  StagePlan stage_plan = plan_stage(target, std::move(stage), std::move(axes), kernel.operands);
  plan_tiles(target, stage_plan, stage_plan.loops, kernel.operands);
  plan.outer = std::move(stage_plan.loops);
  stage_plan.loops.clear();
  plan_narrower(stage_plan);
  plan_inner_rows(stage_plan, plan.outer);
  plan_shared_work(stage_plan, plan.outer, rising);
  const bool is_plain = !stage_plan.interior && stage_plan.minor.id < 0 && !stage_plan.shared &&
                        stage_plan.transposed.empty() && stage_plan.maskable && !stage_plan.by_registers;
  stage_plan.aligned =
      is_plain && stores_split_lines(target, stage_plan.stage, stage_plan.lane, stage_plan.native, kernel.operands);
  const Axis& lane = stage_plan.lane;
  if (!stage_plan.transposed.empty()) {
    plan.block = {fresh_axis_id(loop), ceil_div(stage_plan.tile_row.extent, Dim(stage_plan.native))};
    plan.outer.push_back(plan.block);
    plan.stages.push_back(std::move(stage_plan));
    return;
  }
  plan.by_runs = !stage_plan.interior && !stage_plan.shared &&
                 runs_along(stage_plan.stage, lane, stage_plan.minor.id >= 0, plan.outer);
  if (const int64_t block = stage_plan.shared ? kSharedBlock : kRowBlock;
      lane.id >= 0 && !stage_plan.interior && !(lane.extent.is_constant() && lane.extent.constant() <= 2 * block)) {
    plan.row_block = block;
    plan.block = {fresh_axis_id(loop), ceil_div(lane.extent, Dim(block))};
    plan.outer.insert(plan.by_runs ? plan.outer.begin() : plan.outer.end(), plan.block);
  }
  plan.stages.push_back(std::move(stage_plan));
}

/// The axis whose neighbouring points become lanes, if that is better than lanes along the stages' own axes.
std::optional<Axis> column_axis(const CpuTarget& target, const LoopKernel& loop, const std::vector<Operand>& operands) {
  const auto cost = [&](const Stage& s, const Axis& a) {
    const auto is_lane = [&](const Axis& lane) { return lane.id == a.id; };
    const bool inside = std::any_of(s.axes.begin(), s.axes.end(), is_lane);
    const std::vector<Axis> lanes = lane_axes(target, s, s.axes, operands);
    if (inside && std::none_of(lanes.begin(), lanes.end(), is_lane)) return HUGE_VAL;
    return lane_cost(s, operands, a, native_lanes(target, s), false);
  };
  return outer_lane(loop, cost, [&](const Axis& a) {
    return std::none_of(loop.stages.begin(), loop.stages.end(), [&](const Stage& s) {
      return (a.extent.is_constant() && a.extent.constant() < native_lanes(target, s)) || is_scattered(s, operands, a);
    });
  });
}

/// Every stage of a point processes several columns at once: two registers of them, so that cache lines are used whole.
/// It is one register if a stage has masked loads or needs many registers.
void plan_columns(const CpuTarget& target, const Axis& columns, int block, LoopPlan& plan,
                  const std::vector<Operand>& operands) {
  int native = target.vector_bytes;
  bool narrow = false, maskable = true;
  for (const StagePlan& s : plan.stages) {
    native = std::min(native, s.native);
    narrow = narrow || has_guarded_load(s.stage.value) || count_nodes(s.stage.value) > 40;
    maskable = maskable && is_maskable(target, s.stage, operands);
  }
  narrow = narrow || (columns.extent.is_constant() && columns.extent.constant() < int64_t{2} * native);
  plan.columns = columns;
  plan.columns_together = narrow ? native : 2 * native;
  plan.columns_at_end = maskable ? native : 1;
  plan.block = {block, ceil_div(columns.extent, Dim(plan.columns_together))};
  std::erase_if(plan.outer, [&](const Axis& a) { return a.id == columns.id; });
  plan.outer.push_back(plan.block);
}

void plan_stages(const CpuTarget& target, const Kernel& kernel, LoopKernel loop, LoopPlan& plan) {
  std::vector<Stage>& stages = loop.stages;
  plan.outer = loop.outer;
  std::vector<Operand> operands = kernel.operands;
  KeptValue kept_value = keep_reduced_value(stages, operands);
  const auto columns = column_axis(target, loop, operands);
  if (kept_value.stage < 0 && !columns) kept_value = keep_reduced_row(stages, operands);
  if (operands.size() > kernel.operands.size()) plan.kept_row = operands.back();
  for (size_t s = 0; s < stages.size(); ++s) {
    if (columns) {
      StagePlan stage;
      stage.native = native_lanes(target, stages[s]);
      stage.loops = stages[s].axes;
      stage.stage = stages[s];
      plan.stages.push_back(std::move(stage));
    } else {
      plan.stages.push_back(plan_stage(target, stages[s], stages[s].axes, operands));
    }
    if (static_cast<int>(s) == kept_value.stage) plan.stages.back().kept_value = kept_value;
  }
  if (columns) plan_columns(target, *columns, fresh_axis_id(loop), plan, operands);
  if (std::any_of(stages.begin(), stages.end(), is_ordered)) return;
  for (StagePlan& s : plan.stages)
    s.may_be_short = s.stage.kind == Stage::Kind::reduce && s.lane.id >= 0 && !s.lane.extent.is_constant() &&
                     s.maskable && s.native > 1;
}

}  // namespace

StagePlan plan_row(const CpuTarget& target, Stage stage, const Axis& axis, const std::vector<Operand>& operands) {
  return plan_stage(target, std::move(stage), {axis}, operands);
}

LoopPlan plan_loops(const CpuTarget& target, const Kernel& kernel, const LoopKernel& loop,
                    const std::set<int>& rising) {
  LoopPlan plan;
  if (is_single_store(loop)) {
    plan_single_store(target, kernel, loop, rising, plan);
  } else {
    plan_stages(target, kernel, loop, plan);
  }
  Dim point_work(0);  // work of one point of the outer axes
  for (const StagePlan& stage : plan.stages) point_work = point_work + stage_work(stage);
  point_work = point_work * Dim(plan.columns_together);
  if (!plan.stages[0].transposed.empty()) point_work = point_work * Dim(plan.stages[0].native);
  if (plan.row_block > 0) {
    point_work = work_of(plan.stages[0].stage.value) * Dim(plan.row_block);
    if (plan.stages[0].shared) point_work = point_work * plan.stages[0].shared->axis.extent;
  }
  plan.points = extent_of(plan.outer);
  plan.points_per_task = points_per_task(point_work);
  return plan;
}

}  // namespace gcg::cpu
