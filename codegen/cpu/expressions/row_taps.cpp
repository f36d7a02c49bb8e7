// Extrema over windows of a row that fits in one register. The row's values are computed once, and each tap permutes
// them.
#include <algorithm>

#include "codegen/cpu/expressions/arithmetic.h"
#include "codegen/cpu/expressions/evaluation.h"
#include "codegen/cpu/expressions/partial_sums.h"

namespace gcg::cpu {

using llvm::Value;

namespace {

/// The only load index through which the reduced expression depends on the lane axis. Null: there are several, or none.
Expr place_in_row(const ExprNode& reduction, const std::vector<Expr>& places) {
  if (places.empty()) return nullptr;
  const std::string text = key(places[0]);
  const bool one = std::all_of(places.begin(), places.end(), [&](const Expr& p) { return key(p) == text; });
  const auto taps = free_axes(places[0]);
  const bool moves = std::any_of(reduction.reduce_axes.begin(), reduction.reduce_axes.end(),
                                 [&](const Axis& a) { return taps.contains(a.id); });
  return one && moves ? places[0] : nullptr;
}

/// A reduction over a window, split into a reduction that all positions of a row share, and taps into its result.
struct RowTaps {
  Expr place;  // the position in the row that a tap reads
  Axis tap;    // the axis that this position depends on besides the lane
  Expr row;    // the row's value at the position of the lane axis
};

std::optional<RowTaps> row_taps(const ExprNode& e, const Expr& place, int lane_axis) {
  std::vector<Axis> taps, fixed_axes;
  const std::set<int> moving = free_axes(place);
  for (const Axis& a : e.reduce_axes) (moving.contains(a.id) ? taps : fixed_axes).push_back(a);
  if (taps.size() != 1) return std::nullopt;
  const std::string text = key(place);
  const auto read_at = [&](const Expr& i) {
    return rewrite(e.args[0], [&](const Expr& n) { return key(n) == text ? i : nullptr; });
  };
  const Expr anywhere = read_at(index(0));
  if (depends_on(anywhere, lane_axis) || depends_on(anywhere, taps[0].id)) return std::nullopt;
  // An extent other than 1 keeps the axis from being folded away.
  const Expr row = read_at(axis_ref({lane_axis, Dim::symbol("?")}));
  return RowTaps{place, taps[0], fixed_axes.empty() ? row : reduce(e.reduce, fixed_axes, row)};
}

/// The lanes that a vector of indices selects, all within the register. Empty if they are not known.
std::vector<int> known_lanes(Value* places, int lanes) {
  std::vector<int> known;
  auto* all = llvm::dyn_cast<llvm::Constant>(places);
  for (int j = 0; all != nullptr && j < lanes; ++j) {
    auto* place = llvm::dyn_cast_or_null<llvm::ConstantInt>(all->getAggregateElement(static_cast<unsigned>(j)));
    if (place == nullptr || place->isNegative() || place->getSExtValue() >= lanes) return {};
    known.push_back(static_cast<int>(place->getSExtValue()));
  }
  return known;
}

}  // namespace

/// The terms of load indices in `e` that differ between lanes.
std::vector<Expr> Evaluation::places_of_loads(const Expr& e) {
  std::vector<Expr> places;
  visit(e, [&](const ExprNode& n) {
    if (n.kind != ExprKind::load) return;
    for (const Expr& i : n.args)
      for (const Expr& term : terms_of(i))
        if (varies(term)) places.push_back(term);
  });
  return places;
}

/// For each tap, the lanes of the row that it reads. Empty if a lane is not known or not in the register.
std::vector<std::vector<int>> Evaluation::lanes_of_taps(const Expr& place, const Axis& tap) {
  std::vector<std::vector<int>> all;
  for (int64_t i = 0; i < tap.extent.constant(); ++i) {
    axes_[tap.id] = f_.i64(i);
    ScopeGuard scope(*this, scope_->mask);
    all.push_back(known_lanes(lanes(value(place)), point_.lanes));
    if (all.back().empty()) return {};
  }
  return all;
}

/// Null if the row does not fit one register, or if the reduction is not a small window of taps into one row.
Value* Evaluation::reduce_in_row(const ExprNode& e) {
  const Expr& body = e.args[0];
  const auto begin = axes_.find(point_.lane_axis);
  const bool known_row = begin != axes_.end() && llvm::isa<llvm::Constant>(begin->second) && scope_->mask == nullptr;
  if (!known_row || depends_on_order(e.reduce, e.dtype) || window_size(e.reduce_axes) == 0 || !varies(body) ||
      has_guarded_load(body) || has_reduction(body))
    return nullptr;
  const Expr place = place_in_row(e, places_of_loads(body));
  const auto found = place ? row_taps(e, place, point_.lane_axis) : std::nullopt;
  if (!found) return nullptr;
  const std::vector<std::vector<int>> taps = lanes_of_taps(found->place, found->tap);
  if (taps.empty()) return nullptr;

  int width = 0;
  for (const std::vector<int>& tap : taps) width = std::max(width, *std::max_element(tap.begin(), tap.end()) + 1);
  Point row = point_;
  row.axes = axes_;
  row.axes[point_.lane_axis] = f_.i64(0);
  row.mask = f_.first_lanes(f_.i64(width), point_.lanes);
  Value* elements = lanes(Evaluation(f_, row).value(found->row));
  Value* result = nullptr;
  for (const std::vector<int>& tap : taps) {
    Value* read = ir_.CreateShuffleVector(elements, tap);
    result = result == nullptr ? read : emit_combine(f_, e.reduce, e.dtype, result, read);
  }
  return result;
}

}  // namespace gcg::cpu
