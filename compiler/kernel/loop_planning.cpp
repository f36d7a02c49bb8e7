#include "compiler/kernel/loop_planning.h"

#include <algorithm>
#include <limits>

#include "compiler/kernel/access_analysis.h"

namespace gcg {
namespace {

std::optional<Dim> stride_along(const Expr& load, const Axis& axis, const std::vector<Operand>& operands) {
  return address_stride(operands[static_cast<size_t>(load->operand)], load->args, axis.id);
}

bool is_contiguous(const Expr& load, const Axis& axis, const std::vector<Operand>& operands) {
  const auto stride = stride_along(load, axis, operands);
  return stride && stride->is(1);
}

/// The loads that are not contiguous along `lane`. Also empty if one of them cannot be read in transposed tiles.
std::vector<Expr> jumping_loads(const Stage& stage, const Axis& lane, const std::vector<Operand>& operands,
                                const std::function<bool(const Expr&)>& can_transpose) {
  std::vector<Expr> jumping;
  bool simple = true;
  rewrite(stage.value, [&](const Expr& e) -> Expr {
    if (e->kind == ExprKind::reduce) simple = false;
    if (e->kind != ExprKind::load) return nullptr;
    const auto stride = stride_along(e, lane, operands);
    if (stride && (stride->is(0) || stride->is(1))) return e;
    simple = simple && !e->guarded && can_transpose(e);
    jumping.push_back(e);
    return e;
  });
  return simple ? jumping : std::vector<Expr>();
}

}  // namespace

bool is_single_store(const LoopKernel& loop) {
  return loop.outer.empty() && loop.stages.size() == 1 && loop.stages[0].kind == Stage::Kind::store;
}

Dim extent_of(const std::vector<Axis>& axes) {
  Dim points(1);
  for (const Axis& a : axes) points = points * a.extent;
  return points;
}

bool is_below(const Dim& extent, int64_t limit) {
  const auto upper = extent.upper_bound();
  return upper && *upper < limit;
}

std::optional<size_t> best_lane(const Stage& stage, const std::vector<Axis>& axes, const LaneCost& cost) {
  std::optional<size_t> best;
  double least = 0;
  for (size_t k = 0; k < axes.size(); ++k) {
    const double here = cost(stage, axes[k]);
    if (best && here > least) continue;
    best = k;
    least = here;
  }
  return best;
}

std::optional<Axis> outer_lane(const LoopKernel& loop, const LaneCost& cost,
                               const std::function<bool(const Axis&)>& fits) {
  double least = 0;
  for (const Stage& s : loop.stages) {
    double inside = s.axes.empty() ? 0 : std::numeric_limits<double>::infinity();
    for (const Axis& a : s.axes) inside = std::min(inside, cost(s, a));
    least += inside;
  }
  std::optional<Axis> found;
  for (const Axis& a : loop.outer) {
    double here = 0;
    for (const Stage& s : loop.stages) here += s.axes.empty() ? 0 : cost(s, a);
    if (here >= least || !fits(a)) continue;
    least = here;
    found = a;
  }
  return found;
}

Expr in_run(const Expr& e, const Axis& axis, int64_t run, const Expr& first) {
  if (run == 1) return e;
  return rewrite(e, [&](const Expr& n) -> Expr {
    if (n->kind != ExprKind::binary || (n->binary != BinaryOp::floor_div && n->binary != BinaryOp::mod)) return nullptr;
    const Expr &point = n->args[0], &divisor = n->args[1];
    const bool is_axis = point->kind == ExprKind::axis && point->axis == axis.id;
    if (!is_axis || divisor->kind != ExprKind::constant || divisor->integer <= 0 || divisor->integer % run != 0)
      return nullptr;
    const Expr begin = binary(n->binary, first, divisor);
    return n->binary == BinaryOp::floor_div ? begin : begin + (point - first);
  });
}

std::optional<Tile> find_tile(const Stage& stage, const Axis& lane, const std::vector<Axis>& axes,
                              const std::vector<Operand>& operands, int64_t run,
                              const std::function<bool(const Expr&)>& can_transpose,
                              const std::function<bool(const Axis&)>& is_long) {
  const auto stored = address_stride(operands[static_cast<size_t>(stage.operand)], stage.index, lane.id);
  if (!stored || !stored->is(1) || !is_long(lane)) return std::nullopt;
  std::vector<Expr> jumping = jumping_loads(stage, lane, operands, can_transpose);
  if (jumping.empty()) return std::nullopt;
  for (size_t k = 0; k < axes.size(); ++k) {
    const auto runs_along = [&](const Expr& load) {
      return is_contiguous(in_run(load, axes[k], run, index(0)), axes[k], operands);
    };
    if (is_long(axes[k]) && std::all_of(jumping.begin(), jumping.end(), runs_along)) return Tile{k, std::move(jumping)};
  }
  return std::nullopt;
}

}  // namespace gcg
