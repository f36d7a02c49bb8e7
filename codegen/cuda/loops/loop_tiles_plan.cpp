// When does a store go through tiles?
#include <algorithm>

#include "codegen/cuda/loops/loop_plan.h"
#include "compiler/kernel/access_analysis.h"

namespace gcg::cuda {
namespace {

bool is_contiguous(const Expr& load, const std::vector<Operand>& operands, int axis) {
  const auto stride = address_stride(operands[static_cast<size_t>(load->operand)], load->args, axis);
  return stride && stride->is(1);
}

/// Loads that jump from one element of `lane` to the next. Empty, too, where one of them cannot go through a tile.
std::vector<Expr> strided_loads(const Stage& stage, const std::vector<Operand>& operands, int lane) {
  std::vector<Expr> strided;
  bool simple = true;
  rewrite(stage.value, [&](const Expr& e) -> Expr {
    if (e->kind == ExprKind::reduce) simple = false;
    if (e->kind != ExprKind::load) return nullptr;
    const auto stride = address_stride(operands[static_cast<size_t>(e->operand)], e->args, lane);
    if (stride && (stride->is(0) || stride->is(1))) return e;
    simple = simple && stride && !e->guarded;
    const bool known =
        std::any_of(strided.begin(), strided.end(), [&](const Expr& other) { return key(other) == key(e); });
    if (!known) strided.push_back(e);
    return e;
  });
  constexpr size_t kMostTiles = 3;
  return simple && strided.size() <= kMostTiles ? strided : std::vector<Expr>{};
}

bool is_short(const Dim& extent) {
  constexpr int64_t kShortest = 8;
  return extent.upper_bound() && *extent.upper_bound() < kShortest;
}

}  // namespace

void plan_tiles(const Kernel& kernel, LoopPlan& plan) {
  StagePlan& s = plan.stages[0];
  const auto is_long = [](const Axis& a) { return !is_short(a.extent); };
  if (s.lane.id < 0 || !is_long(s.lane)) return;
  const auto store = address_stride(kernel.operands[static_cast<size_t>(s.stage.operand)], s.stage.index, s.lane.id);
  const std::vector<Expr> strided = strided_loads(s.stage, kernel.operands, s.lane.id);
  if (!store || !store->is(1) || strided.empty()) return;
  for (size_t k = 0; k < plan.outer.size(); ++k) {
    const Axis row = plan.outer[k];
    const auto contiguous = [&](const Expr& e) { return is_contiguous(e, kernel.operands, row.id); };
    if (!is_long(row) || !std::all_of(strided.begin(), strided.end(), contiguous)) continue;
    plan.mapping = Mapping::tiles;
    plan.tile_row = row;
    plan.transposed = strided;
    plan.outer.erase(plan.outer.begin() + static_cast<std::ptrdiff_t>(k));
    s.vector = 1;
    return;
  }
}

}  // namespace gcg::cuda
