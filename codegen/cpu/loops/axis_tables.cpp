#include "codegen/cpu/loops/axis_tables.h"

#include <algorithm>
#include <unordered_map>

#include "codegen/cpu/expressions/expr_emitter.h"
#include "codegen/cpu/loops/vector_row.h"
#include "compiler/kernel/access_analysis.h"

namespace gcg::cpu {
namespace {

constexpr int64_t kFewestUses = 8;  // the fewest uses per element for which a table saves time

bool is_power_of_two(const Expr& e) {
  return e->kind == ExprKind::constant && e->integer > 0 && (e->integer & (e->integer - 1)) == 0;
}

bool divides(const ExprNode& n) {
  if (n.kind != ExprKind::binary) return false;
  if (n.binary == BinaryOp::floor_div || n.binary == BinaryOp::mod)
    return n.dtype == DType::i64 && !is_power_of_two(n.args[1]);
  return n.binary == BinaryOp::div;
}

bool divides_somewhere(const Expr& e) {
  bool found = false;
  visit(e, [&](const ExprNode& n) { found = found || divides(n); });
  return found;
}

/// True if the expression may be evaluated elsewhere: no other thread changes the data that it reads, and no guard
/// controls it.
bool is_movable(const Expr& e) {
  bool movable = true;
  visit(e, [&](const ExprNode& n) {
    const bool fixed = n.kind == ExprKind::local || n.kind == ExprKind::accumulator ||
                       (n.kind == ExprKind::load && n.guarded) ||
                       (n.kind == ExprKind::binary && n.binary == BinaryOp::checked_index);
    movable = movable && !fixed &&
              (n.kind != ExprKind::load ||
               std::all_of(n.args.begin(), n.args.end(), [](const Expr& i) { return free_axes(i).empty(); }));
  });
  return movable;
}

/// True if the extent is at least `bound` wherever the axis has an element.
bool is_at_least(const Dim& extent, const Axis& axis, int64_t bound) {
  std::map<std::string, Dim> positive;
  for (const std::string& symbol : extent.symbols())
    if (axis.extent.substitute({{symbol, Dim(0)}}).is(0)) positive[symbol] = Dim::symbol(symbol) + 1;
  return extent.substitute(positive).lower_bound().value_or(bound - 1) >= bound;
}

/// How the index changes from one element of the axis to the next.
Slope slope_along(const Expr& e, const Axis& axis) {
  if (e->kind == ExprKind::axis || !depends_on(e, axis.id)) return Slope::gradual;
  if (e->kind != ExprKind::binary) return Slope::any;
  const Expr &a = e->args[0], &b = e->args[1];
  switch (e->binary) {
    case BinaryOp::add:
      if (depends_on(a, axis.id) && depends_on(b, axis.id)) return Slope::any;
      return std::min(slope_along(a, axis), slope_along(b, axis));
    case BinaryOp::sub:
      return depends_on(b, axis.id) ? Slope::any : slope_along(a, axis);
    case BinaryOp::max:
    case BinaryOp::min:
      return std::min(slope_along(a, axis), slope_along(b, axis));
    case BinaryOp::floor_div: {
      const auto numerator = as_affine(a), divisor = as_affine(b);
      if (!numerator || !divisor || !divisor->strides.empty()) return Slope::any;
      const auto stride = numerator->strides.find(axis.id);
      if (stride == numerator->strides.end() || !is_at_least(stride->second, axis, 0)) return Slope::any;
      if (is_at_least(divisor->base - stride->second, axis, 0)) return Slope::gradual;
      return is_at_least(divisor->base, axis, 1) ? Slope::rising : Slope::any;
    }
    default:
      return Slope::any;
  }
}

/// The axes along which the points of `plan` compute divisions.
std::vector<int> dividing_axes(const LoopPlan& plan) {
  const StagePlan& stage = plan.stages[0];
  const auto& values = stage.inner ? stage.inner->values : stage.interior ? stage.interior->values : stage.values;
  std::vector<int> axes;
  for (const Expr& value : values)
    visit(value, [&](const ExprNode& n) {
      if (!divides(n)) return;
      std::set<int> free;
      for (const Expr& a : n.args) free.merge(free_axes(a));
      if (free.size() == 1) axes.push_back(*free.begin());
    });
  return axes;
}

class Tabulator {
 public:
  Tabulator(FunctionBuilder& f, const LoopKernel& loop, const std::vector<int>& axes) : f_(f) {
    result_.loop = loop;
    for (const auto* some : {&loop.outer, &loop.stages[0].axes})
      for (const Axis& a : *some)
        if (std::find(axes.begin(), axes.end(), a.id) != axes.end() && is_used_often(a)) axes_.push_back(a);
  }

  AxisTables run() {
    Stage& stage = result_.loop.stages[0];
    if (!axes_.empty()) stage.value = rewrite(stage.value, [&](const Expr& e) { return tabled(e); });
    return std::move(result_);
  }

 private:
  bool is_used_often(const Axis& axis) const {
    Dim others(1);
    for (const auto* some : {&result_.loop.outer, &result_.loop.stages[0].axes})
      for (const Axis& a : *some)
        if (a.id != axis.id) others = others * a.extent;
    return !others.is_constant() || others.constant() >= kFewestUses;
  }

  /// The load that replaces `e`; null if `e` as a whole is not a value for a table.
  Expr tabled(const Expr& e) {
    if (e->dtype != DType::i64 && e->dtype != DType::f32) return nullptr;
    const std::set<int> free = free_axes(e);
    if (free.size() != 1 || !divides_somewhere(e) || !is_movable(e)) return nullptr;
    const auto axis = std::find_if(axes_.begin(), axes_.end(), [&](const Axis& a) { return a.id == *free.begin(); });
    if (axis == axes_.end()) return nullptr;
    auto [known, is_new] = tables_.try_emplace(key(e), -1);
    if (is_new) {
      const Slope slope = e->dtype == DType::i64 ? slope_along(e, *axis) : Slope::any;
      known->second = f_.add_array(e->dtype, axis->extent, slope);
      if (slope != Slope::any) result_.rising.insert(known->second);
      result_.tables.push_back({*axis, e, known->second});
    }
    return load(known->second, e->dtype, {axis_ref(*axis)});
  }

  FunctionBuilder& f_;
  std::vector<Axis> axes_;
  std::unordered_map<std::string, int> tables_;
  AxisTables result_;
};

}  // namespace

AxisTables tabulate_axes(FunctionBuilder& f, const LoopKernel& loop, const LoopPlan& plan) {
  if (loop.stages.size() != 1 || loop.stages[0].kind != Stage::Kind::store) return {loop, {}};
  return Tabulator(f, loop, dividing_axes(plan)).run();
}

void emit_axis_tables(FunctionBuilder& f, const std::vector<AxisTable>& tables) {
  ExprEmitter exprs(f);
  for (const AxisTable& table : tables)
    f.for_loop(f.i64(0), f.dim(table.axis.extent), f.i64(1), [&](llvm::Value* i) {
      Point point;
      point.axes[table.axis.id] = i;
      exprs.store(table.operand, {axis_ref(table.axis)}, table.value, point);
    });
}

std::vector<AxisTable> tabulate_ends(FunctionBuilder& f, LoopPlan& plan) {
  StagePlan& store = plan.stages[0];
  if (plan.stages.size() != 1 || !store.interior || store.ends.fewer_lanes.empty()) return {};
  const auto width = width_of_ends(*store.interior);
  if (!width || (plan.points.is_constant() && plan.points.constant() < kFewestUses)) return {};
  int highest = std::max({plan.block.id, store.lane.id, store.minor.id});
  for (const Axis& a : plan.outer) highest = std::max(highest, a.id);
  const Axis skipped{highest + 1, Dim::symbol("?")};
  const Dim entries = *width + fewest_in_vectors(store.ends, store.native);
  std::vector<AxisTable> tables;
  std::unordered_map<std::string, int> known;
  const auto tabled = [&](const Expr& e) -> Expr {
    if (e->dtype != DType::i64 || free_axes(e) != std::set<int>{store.lane.id}) return nullptr;
    if (as_affine(e) || !is_movable(e)) return nullptr;
    const auto [table, is_new] = known.try_emplace(key(e), -1);
    if (is_new) tables.push_back({store.lane, e, table->second = f.add_array(DType::i64, entries)});
    return load(table->second, DType::i64, {axis_ref(store.lane) - axis_ref(skipped)});
  };
  std::vector<Expr> values;
  for (const Expr& value : store.values) values.push_back(rewrite(value, tabled));
  if (tables.empty()) return {};
  store.ends.tabulated = std::move(values);
  store.ends.skipped = skipped;
  return tables;
}

void emit_end_tables(FunctionBuilder& f, const StagePlan& store, const std::vector<AxisTable>& tables) {
  if (tables.empty()) return;
  ExprEmitter exprs(f);
  const RowParts row(f, store);
  row.for_each_end(f, [&](llvm::Value* begin, llvm::Value* end, llvm::Value* skipped) {
    f.for_loop(begin, end, f.i64(1), [&](llvm::Value* i) {
      Point point;
      point.axes[store.lane.id] = i;
      point.axes[store.ends.skipped.id] = skipped;
      for (const AxisTable& table : tables)
        exprs.store(table.operand, {axis_ref(table.axis) - axis_ref(store.ends.skipped)}, table.value, point);
    });
  });
}

}  // namespace gcg::cpu
