#include <functional>
#include <map>
#include <string>

#include "codegen/cuda/loops/loop_plan.h"
#include "compiler/kernel/flat_loops.h"
#include "compiler/kernel/loop_planning.h"

namespace gcg::cuda {
namespace {

constexpr int64_t kShortest = 16;         // shorter reductions are not moved
constexpr int64_t kManyPoints = 1 << 17;  // in stores with at least this many elements, reductions are not moved either

/// Calls `see` for every reduction that is evaluated for all elements, regardless of selects.
void visit_reductions(const Expr& e, const std::function<void(const Expr&)>& see) {
  if (e->kind == ExprKind::reduce) return see(e);
  if (e->kind == ExprKind::select) return visit_reductions(e->args[0], see);
  for (const Expr& a : e->args) visit_reductions(a, see);
}

}  // namespace

Expr share_reductions(const Expr& value) {
  std::map<std::string, Expr> first;
  return rewrite(value, [&](const Expr& e) -> Expr {
    return e->kind == ExprKind::reduce ? first.try_emplace(key(e), e).first->second : nullptr;
  });
}

LoopKernel hoist_reductions(const LoopKernel& loop) {
  if (!is_single_store(loop)) return loop;
  LoopKernel result = loop;
  Stage store = std::move(result.stages[0]);
  result.stages.clear();
  result.outer = std::move(store.axes);
  store.axes.clear();
  const Dim points = extent_of(result.outer);
  if (points.lower_bound().value_or(0) >= kManyPoints) return loop;
  int next_axis = fresh_axis_id(loop);
  std::map<std::string, Expr> locals;
  visit_reductions(store.value, [&](const Expr& e) {
    if (is_below(extent_of(e->reduce_axes), kShortest) || !locals.try_emplace(key(e)).second) return;
    Stage stage;
    stage.kind = Stage::Kind::reduce;
    stage.axes = e->reduce_axes;
    stage.value = e->args[0];
    merge_axes(stage.axes, {&stage.value}, next_axis);
    stage.reduce = e->reduce;
    stage.local = static_cast<int>(result.stages.size());
    locals[key(e)] = local_ref(stage.local, e->dtype);
    result.stages.push_back(std::move(stage));
  });
  if (result.stages.empty()) return loop;
  store.value = rewrite(store.value, [&](const Expr& e) -> Expr {
    if (e->kind != ExprKind::reduce) return nullptr;
    const auto it = locals.find(key(e));
    return it == locals.end() ? nullptr : it->second;
  });
  result.stages.push_back(std::move(store));
  return result;
}

}  // namespace gcg::cuda
