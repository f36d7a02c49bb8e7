#include "codegen/cuda/loops/loop_plan.h"

#include <algorithm>
#include <bit>

#include "codegen/cuda/text/vector_access.h"
#include "compiler/kernel/access_analysis.h"
#include "compiler/kernel/loop_planning.h"
#include "compiler/kernel/machine.h"
#include "compiler/support/error.h"

namespace gcg::cuda {
namespace {

/// Threads that occupy a large GPU; with fewer, each thread takes fewer elements.
constexpr int64_t kManyThreads = 1 << 14;
/// With this many points, one thread per point suffices.
constexpr int64_t kManyPoints = 1 << 17;

/// Cost of memory accesses if neighbouring threads are neighbours along `axis`: 1 per access of a full sector.
LaneCost lane_cost(const std::vector<Operand>& operands) {
  return [&operands](const Stage& stage, const Axis& axis) {
    double cost = 0;
    visit_accesses(stage, [&](int operand, const std::vector<Expr>& index, bool store) {
      const auto stride = address_stride(operands[static_cast<size_t>(operand)], index, axis.id);
      if (stride && stride->is(0))
        cost += store ? 8 : 0.1;
      else if (stride && stride->is(1))
        cost += 1;
      else
        cost += store ? 9 : 6;
    });
    return cost;
  };
}

StagePlan plan_stage(const Stage& stage, const std::vector<Operand>& operands) {
  StagePlan plan;
  plan.stage = stage;
  plan.loops = stage.axes;
  if (const auto best = best_lane(stage, plan.loops, lane_cost(operands))) {
    plan.lane = plan.loops[*best];
    plan.loops.erase(plan.loops.begin() + static_cast<std::ptrdiff_t>(*best));
  }
  return plan;
}

void plan_elements(const Kernel& kernel, const LoopKernel& loop, LoopPlan& plan) {
  const Dim elements = extent_of(loop.stages[0].axes);
  StagePlan stage_plan = plan_stage(loop.stages[0], kernel.operands);
  if (stage_plan.lane.id >= 0) {
    // A stage with windows computes vectors of results if all its reads along the lane can be vectors. Otherwise
    // neighbouring threads read neighbouring elements.
    const auto count = has_reduction(stage_plan.stage.value) ? window_count : vector_count;
    stage_plan.vector = count(stage_plan.stage, kernel.operands, stage_plan.lane.id);
    while (stage_plan.vector > 1 && is_below(elements, stage_plan.vector * kManyThreads)) stage_plan.vector /= 2;
  }
  plan.outer = std::move(stage_plan.loops);
  stage_plan.loops.clear();
  plan.stages.push_back(std::move(stage_plan));
  plan_tiles(kernel, plan);
}

/// The largest product of a stage's extents; nullopt if it depends on the input.
std::optional<int64_t> longest_row(const std::vector<Stage>& stages) {
  int64_t longest = 1;
  for (const Stage& s : stages) {
    const auto row = extent_of(s.axes).upper_bound();
    if (!row) return std::nullopt;
    longest = std::max(longest, *row);
  }
  return longest;
}

int power_of_two(int64_t at_least) { return static_cast<int>(std::bit_ceil(static_cast<uint64_t>(at_least))); }

/// Threads per point: about four elements each in a warp, eight in a block.
void plan_group(const std::vector<Stage>& stages, LoopPlan& plan) {
  const auto row = longest_row(stages);
  constexpr int kUnknownRow = 128;
  plan.threads = 128;
  if (!row) {
    plan.group = kUnknownRow;
  } else if (*row <= 512 || (*row <= 1024 && !is_below(extent_of(plan.outer), 4096))) {
    plan.group = std::clamp(power_of_two((*row + 3) / 4), 1, kWarpThreads);
  } else {
    plan.group = std::clamp(power_of_two((*row + 7) / 8), 64, kMostBlockThreads);
  }
  if (plan.group > kWarpThreads) plan.threads = plan.group;
}

/// Threads per point if neighbouring threads have neighbouring points: enough of them to occupy a large GPU.
int across_group(const std::vector<Stage>& stages, const std::vector<Axis>& outer) {
  constexpr int64_t kShortRow = 16, kUnknownRow = 64, kEachThread = 4, kUnknownPoints = 1 << 15;
  const int64_t row = longest_row(stages).value_or(kUnknownRow);
  const int64_t points = std::max<int64_t>(1, extent_of(outer).upper_bound().value_or(kUnknownPoints));
  if (row < kShortRow || points >= kManyPoints) return 1;
  return std::min({power_of_two(kManyPoints / points), power_of_two(row / kEachThread), kWarpThreads});
}

/// Chooses the vector length, the same for all stages; rows must be whole numbers of vectors.
void plan_vectors(const Kernel& kernel, LoopPlan& plan) {
  int count = 16;
  for (const StagePlan& s : plan.stages) {
    if (s.lane.id < 0) continue;
    if (!s.loops.empty()) return;
    count = std::min(count, vector_count(s.stage, kernel.operands, s.lane.id));
    while (count > 1 && !is_multiple(s.lane.extent, int64_t{count} * plan.group)) count /= 2;
  }
  for (StagePlan& s : plan.stages)
    if (s.lane.id >= 0) s.vector = count;
}

/// Gives all stages the same lane axis if each runs over one axis of the same constant extent; otherwise returns false.
bool share_lane(LoopPlan& plan) {
  const StagePlan* first = nullptr;
  for (StagePlan& s : plan.stages) {
    if (s.lane.id < 0) continue;
    if (!s.loops.empty() || !s.lane.extent.is_constant()) return false;
    if (first != nullptr && !(s.lane.extent == first->lane.extent)) return false;
    if (first == nullptr) first = &s;
    const Expr lane = axis_ref(first->lane);
    const int own = s.lane.id;
    auto rename = [&](const Expr& e) {
      return rewrite(e, [&](const Expr& n) { return n->kind == ExprKind::axis && n->axis == own ? lane : nullptr; });
    };
    s.stage.value = rename(s.stage.value);
    for (Expr& i : s.stage.index) i = rename(i);
    s.lane = first->lane;
  }
  return first != nullptr;
}

void plan_groups(const Kernel& kernel, const LoopKernel& loop, LoopPlan& plan) {
  plan.mapping = ThreadMapping::groups;
  plan.outer = loop.outer;
  const auto lane = outer_lane(loop, lane_cost(kernel.operands), [](const Axis&) { return true; });
  if (lane) {
    const auto at = std::find_if(plan.outer.begin(), plan.outer.end(), [&](const Axis& a) { return a.id == lane->id; });
    std::rotate(at, at + 1, plan.outer.end());
    plan.group = across_group(loop.stages, plan.outer);
    plan.across = plan.group > 1;
    plan.threads = plan.across ? kWarpThreads * plan.group : 128;
  } else {
    plan_group(loop.stages, plan);
  }
  for (const Stage& stage : loop.stages) plan.stages.push_back(plan_stage(stage, kernel.operands));
  if (plan_grid(kernel, loop, lane.has_value(), plan) || plan.group == 1) return;
  plan_vectors(kernel, plan);
  constexpr int64_t kElementsPerThread = 32;
  const bool shared = share_lane(plan);
  for (const StagePlan& s : plan.stages)
    if (s.lane.id >= 0 && !is_below(s.lane.extent, kElementsPerThread * plan.group + 1)) return;
  if (shared) plan.kept_rows = plan_kept(plan.stages);
}

}  // namespace

LoopPlan plan_loops(const Kernel& kernel, const LoopKernel& original) {
  LoopKernel loop = hoist_reductions(original);
  for (Stage& stage : loop.stages) stage.value = share_reductions(stage.value);
  LoopPlan plan;
  if (is_single_store(loop))
    plan_elements(kernel, loop, plan);
  else
    plan_groups(kernel, loop, plan);
  return plan;
}

}  // namespace gcg::cuda
