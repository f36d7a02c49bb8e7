#include "codegen/cpu/loop_plan.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>
#include <set>

#include "codegen/cpu/imports.h"
#include "compiler/kernel/access_analysis.h"
#include "compiler/kernel/loop_rewrite.h"
#include "compiler/support/error.h"

namespace gcg::cpu {
namespace {

constexpr int64_t kTaskWork = 16384;  // in units of one cheap element
constexpr int64_t kRowBlock = 16384;  // elements

/// Cost of computing one node from its arguments, in units of one cheap element.
int64_t own_work(const ExprNode& e) {
  if (e.kind == ExprKind::binary) return import_of(e.binary, e.dtype).empty() ? 0 : 32;
  if (e.kind != ExprKind::unary || !is_float(e.dtype)) return 0;
  if (calls_per_element(e.unary, e.dtype)) return 32;
  return e.unary >= UnaryOp::exp && e.unary <= UnaryOp::atanh ? 4 : 0;
}

/// Bytes of the widest element that vectors of the stage hold. Arithmetic on indices does not count.
int64_t lane_bytes(const Stage& stage) {
  int64_t bytes = 1;
  std::set<const ExprNode*> seen;
  std::function<void(const Expr&)> see = [&](const Expr& e) {
    if (!seen.insert(e.get()).second) return;
    if (e->dtype != DType::boolean || e->kind == ExprKind::load) bytes = std::max(bytes, size_of(e->dtype));
    if (e->kind == ExprKind::load) return;
    if (e->kind == ExprKind::select) {
      see(e->args[1]);
      see(e->args[2]);
      if (is_data(e->args[0])) see(e->args[0]);
      return;
    }
    for (const Expr& a : e->args) see(a);
  };
  see(stage.value);
  return bytes;
}

bool is_maskable(const CpuTarget& target, const Stage& stage, const std::vector<Operand>& operands) {
  if (target.has_avx512()) return true;
  if (target.isa == Isa::neon) return false;
  bool maskable = true;
  visit_accesses(stage, [&](int operand, const std::vector<Expr>&, bool) {
    maskable = maskable && size_of(operands[static_cast<size_t>(operand)].dtype) >= 4;
  });
  return maskable;
}

/// Cycles per element, roughly, if `axis` is the vector axis.
double lane_cost(const Stage& stage, const std::vector<Operand>& operands, const Axis& axis, int lanes) {
  double cost = 0.5;
  visit_accesses(stage, [&](int operand, const std::vector<Expr>& index, bool store) {
    const auto stride = address_stride(operands[static_cast<size_t>(operand)], index, axis.id);
    if (stride && stride->is(0))
      cost += 0.1;
    else if (stride && stride->is(1))
      cost += 1;
    else
      cost += store ? 16 : 10;
  });
  if (!axis.extent.is_constant()) return cost;
  const double extent = std::max<double>(1, static_cast<double>(axis.extent.constant()));
  return cost * std::ceil(extent / lanes) * lanes / extent;
}

/// Scalar code inside (calls, gathers) gains nothing from more than one register per step.
bool is_scattered(const Stage& stage, const std::vector<Operand>& operands, const Axis& axis) {
  bool scattered = false;
  visit_accesses(stage, [&](int operand, const std::vector<Expr>& index, bool) {
    const auto stride = address_stride(operands[static_cast<size_t>(operand)], index, axis.id);
    scattered = scattered || !stride || !(stride->is(0) || stride->is(1));
  });
  visit(stage.value, [&](const ExprNode& n) {
    if (n.kind == ExprKind::unary) scattered = scattered || calls_per_element(n.unary, n.dtype);
    if (n.kind == ExprKind::binary) scattered = scattered || !import_of(n.binary, n.dtype).empty();
  });
  return scattered;
}

int count_nodes(const Expr& e) {
  int count = 0;
  visit(e, [&](const ExprNode&) { ++count; });
  return count;
}

/// Lanes of the main loop: several registers for independent work, fewer when the row is short or registers are few.
int main_lanes(const CpuTarget& target, const StagePlan& plan, const std::vector<Operand>& operands) {
  if (is_scattered(plan.stage, operands, plan.lane)) return plan.native;
  if (plan.by_registers && plan.stage.kind == Stage::Kind::reduce) return plan.native;
  int unroll = target.vector_registers >= 32 ? 4 : 2;
  if (count_nodes(plan.stage.value) > 40) unroll /= 2;
  if (plan.stage.kind == Stage::Kind::reduce) unroll = std::max(unroll, 4);
  while (unroll > 1 && plan.lane.extent.is_constant() && plan.lane.extent.constant() < int64_t{unroll} * plan.native)
    unroll /= 2;
  return plan.native * unroll;
}

/// Picks the vector axis of `axes` and sets everything but the loops outside it.
StagePlan plan_stage(const CpuTarget& target, Stage stage, std::vector<Axis> axes,
                     const std::vector<Operand>& operands) {
  StagePlan plan;
  plan.native = std::max(1, target.vector_bytes / static_cast<int>(lane_bytes(stage)));
  size_t best = axes.size();
  double best_cost = 0;
  for (size_t k = 0; k < axes.size(); ++k) {
    const double cost = lane_cost(stage, operands, axes[k], plan.native);
    if (best < axes.size() && cost > best_cost) continue;
    best = k;
    best_cost = cost;
  }
  plan.stage = std::move(stage);
  if (best < axes.size()) {
    plan.lane = axes[best];
    axes.erase(axes.begin() + static_cast<std::ptrdiff_t>(best));
    plan.maskable = is_maskable(target, plan.stage, operands);
    while (!plan.maskable && plan.lane.extent.is_constant() && plan.native > std::max<int64_t>(1, plan.lane.extent.constant()))
      plan.native /= 2;
    plan.by_registers = has_guarded_load(plan.stage.value);
    plan.wide = main_lanes(target, plan, operands);
  }
  plan.loops = std::move(axes);
  return plan;
}

/// Finds the axis `row` of `axes` along which every load is contiguous that is strided along the vector axis.
void plan_tiles(const CpuTarget& target, StagePlan& plan, std::vector<Axis>& axes,
                const std::vector<Operand>& operands) {
  constexpr int kLargestBody = 24;  // it is emitted once per row of a tile
  const int64_t bytes = lane_bytes(plan.stage);
  const bool lanes_fit = (bytes == 4 || bytes == 8) && plan.native == target.vector_bytes / bytes;
  if (plan.lane.id < 0 || !lanes_fit || count_nodes(plan.stage.value) > kLargestBody) return;
  auto long_enough = [&](const Axis& a) { return !a.extent.is_constant() || a.extent.constant() >= plan.native; };
  auto stride = [&](const Expr& e, const Axis& a) {
    return address_stride(operands[static_cast<size_t>(e->operand)], e->args, a.id);
  };
  const auto store_stride =
      address_stride(operands[static_cast<size_t>(plan.stage.operand)], plan.stage.index, plan.lane.id);
  if (!store_stride || !store_stride->is(1) || !long_enough(plan.lane)) return;
  std::vector<Expr> strided;
  bool simple = true;
  rewrite(plan.stage.value, [&](const Expr& e) -> Expr {
    if (e->kind == ExprKind::reduce) simple = false;
    if (e->kind != ExprKind::load) return nullptr;
    const auto s = stride(e, plan.lane);
    if (s && (s->is(0) || s->is(1))) return e;
    simple = simple && s && !e->guarded && size_of(e->dtype) == bytes;
    strided.push_back(e);
    return e;
  });
  if (!simple || strided.empty()) return;
  for (size_t k = 0; k < axes.size(); ++k) {
    if (!long_enough(axes[k])) continue;
    const bool contiguous = std::all_of(strided.begin(), strided.end(), [&](const Expr& e) {
      const auto s = stride(e, axes[k]);
      return s && s->is(1);
    });
    if (!contiguous) continue;
    plan.transposed = strided;
    plan.tile_row = axes[k];
    axes.erase(axes.begin() + static_cast<std::ptrdiff_t>(k));
    return;
  }
}

int fresh_axis_id(const LoopKernel& loop) {
  int highest = 0;
  auto see = [&](const std::vector<Axis>& axes) {
    for (const Axis& a : axes) highest = std::max(highest, a.id);
  };
  see(loop.outer);
  for (const Stage& stage : loop.stages) {
    see(stage.axes);
    visit(stage.value, [&](const ExprNode& n) { see(n.reduce_axes); });
  }
  return highest + 1;
}

Dim stage_work(const StagePlan& plan) {
  Dim sum = work_of(plan.stage.value);
  for (const Axis& a : plan.loops) sum = sum * a.extent;
  return plan.lane.id < 0 ? sum : sum * plan.lane.extent;
}

/// A single store: all its axes are parallel, so all but the vector axis become points.
void plan_single_store(const CpuTarget& target, const Kernel& kernel, const LoopKernel& loop, LoopPlan& plan) {
  Stage stage = loop.stages[0];
  std::vector<Axis> axes = loop.outer;
  axes.insert(axes.end(), stage.axes.begin(), stage.axes.end());
  flatten_accesses(stage, kernel.operands);
  axes = merge_axes(stage, std::move(axes));
  StagePlan stage_plan = plan_stage(target, std::move(stage), std::move(axes), kernel.operands);
  plan_tiles(target, stage_plan, stage_plan.loops, kernel.operands);
  plan.outer = std::move(stage_plan.loops);
  stage_plan.loops.clear();
  const Axis& lane = stage_plan.lane;
  if (!stage_plan.transposed.empty()) {
    plan.block = {fresh_axis_id(loop), ceil_div(stage_plan.tile_row.extent, Dim(stage_plan.native))};
    plan.outer.push_back(plan.block);
  } else if (lane.id >= 0 && !(lane.extent.is_constant() && lane.extent.constant() <= 2 * kRowBlock)) {
    plan.row_block = kRowBlock;
    plan.block = {fresh_axis_id(loop), ceil_div(lane.extent, Dim(kRowBlock))};
    plan.outer.push_back(plan.block);
  }
  plan.stages.push_back(std::move(stage_plan));
}

/// Do neighbouring points of some outer axis use memory better than neighbouring elements of the stages' axes? Then that
/// axis.
std::optional<Axis> column_axis(const CpuTarget& target, const std::vector<Stage>& stages, const std::vector<Axis>& outer,
                                const std::vector<Operand>& operands) {
  const auto native = [&](const Stage& s) { return std::max(1, target.vector_bytes / static_cast<int>(lane_bytes(s))); };
  double least = 0;
  for (const Stage& s : stages) {
    double best = s.axes.empty() ? 0 : HUGE_VAL;
    for (const Axis& a : s.axes) best = std::min(best, lane_cost(s, operands, a, native(s)));
    least += best;
  }
  std::optional<Axis> found;
  for (const Axis& a : outer) {
    double cost = 0;
    bool fits = true;
    for (const Stage& s : stages) {
      fits = fits && !(a.extent.is_constant() && a.extent.constant() < native(s)) && !is_scattered(s, operands, a);
      cost += s.axes.empty() ? 0 : lane_cost(s, operands, a, native(s));
    }
    if (!fits || cost >= least) continue;
    least = cost;
    found = a;
  }
  return found;
}

/// Every stage of a point handles several columns at a time: two registers each, so that cache lines are used whole, or one
/// where a stage has masked loads or wants many registers.
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

void plan_stages(const CpuTarget& target, const Kernel& kernel, const LoopKernel& loop, LoopPlan& plan) {
  plan.outer = loop.outer;
  std::erase_if(plan.outer, [](const Axis& a) { return a.extent.is(1); });
  std::vector<Stage> stages = loop.stages;
  for (Stage& stage : stages) {
    flatten_accesses(stage, kernel.operands);
    stage.axes = merge_axes(stage, stage.axes);
  }
  const KeptValue kept = keep_reduced_value(stages, kernel.operands);
  const auto columns = column_axis(target, stages, plan.outer, kernel.operands);
  for (size_t s = 0; s < stages.size(); ++s) {
    if (columns) {
      StagePlan stage;
      stage.native = std::max(1, target.vector_bytes / static_cast<int>(lane_bytes(stages[s])));
      stage.loops = stages[s].axes;
      stage.stage = stages[s];
      plan.stages.push_back(std::move(stage));
    } else {
      plan.stages.push_back(plan_stage(target, stages[s], stages[s].axes, kernel.operands));
    }
    if (static_cast<int>(s) == kept.stage) plan.stages.back().kept = kept;
  }
  if (columns) plan_columns(target, *columns, fresh_axis_id(loop), plan, kernel.operands);
}

}  // namespace

Dim work_of(const Expr& root) {
  Dim sum(1);
  std::set<const ExprNode*> seen;
  std::function<void(const Expr&)> add = [&](const Expr& e) {
    if (!seen.insert(e.get()).second) return;
    if (e->kind == ExprKind::reduce) {
      Dim extent(1);
      for (const Axis& a : e->reduce_axes) extent = extent * a.extent;
      sum = sum + extent * work_of(e->args[0]);
      return;
    }
    sum = sum + Dim(own_work(*e));
    for (const Expr& a : e->args) add(a);
  };
  add(root);
  return sum;
}

Dim points_per_task(const Dim& work) { return max(Dim(1), floor_div(Dim(kTaskWork), max(Dim(1), work))); }

StagePlan plan_row(const CpuTarget& target, Stage stage, const Axis& axis, const std::vector<Operand>& operands) {
  return plan_stage(target, std::move(stage), {axis}, operands);
}

LoopPlan plan_loops(const CpuTarget& target, const Kernel& kernel, const LoopKernel& loop) {
  LoopPlan plan;
  auto note_units = [&](const std::vector<Axis>& axes) {
    for (const Axis& a : axes)
      if (a.extent.is(1)) plan.unit_axes.push_back(a.id);
  };
  note_units(loop.outer);
  for (const Stage& stage : loop.stages) note_units(stage.axes);
  if (loop.stages.size() == 1 && loop.stages[0].kind == Stage::Kind::store) {
    plan_single_store(target, kernel, loop, plan);
  } else {
    plan_stages(target, kernel, loop, plan);
  }
  Dim point_work(0);  // of one point of the outer axes
  for (const StagePlan& stage : plan.stages) point_work = point_work + stage_work(stage);
  point_work = point_work * Dim(plan.columns_together);
  if (!plan.stages[0].transposed.empty()) point_work = point_work * Dim(plan.stages[0].native);
  if (plan.row_block > 0) point_work = work_of(plan.stages[0].stage.value) * Dim(plan.row_block);
  for (const Axis& a : plan.outer) plan.points = plan.points * a.extent;
  plan.points_per_task = points_per_task(point_work);
  return plan;
}

}  // namespace gcg::cpu
