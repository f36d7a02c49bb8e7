#include "codegen/cpu/loops/shared_work.h"

#include <algorithm>
#include <unordered_set>

#include "codegen/cpu/loops/lane_cost.h"
#include "compiler/kernel/access_analysis.h"

namespace gcg::cpu {
namespace {

constexpr int kLeastNodes = 16;  // the fewest nodes of expressions that are worth a separate loop
constexpr int64_t kShortestAxis = 4;

/// Collects the largest sub-expressions that vary along `lane` and not along `axis`.
void collect(const Expr& e, const Axis& axis, const Axis& lane, std::vector<Expr>& values,
             std::unordered_set<const ExprNode*>& seen) {
  if (!seen.insert(e.get()).second || !depends_on(e, lane.id)) return;
  if (!depends_on(e, axis.id)) {
    // A guarded load may only be executed where its condition holds, and the condition may vary along `axis`.
    if (e->kind != ExprKind::axis && !has_guarded_load(e)) values.push_back(e);
    return;
  }
  if (e->kind == ExprKind::reduce) return;  // the axes of a reduction have no values outside of it
  for (const Expr& a : e->args) collect(a, axis, lane, values, seen);
}

/// True if the index reads only tables of rising indices. Loads with such an index need no gather.
bool only_rises(const Expr& index, const std::set<int>& rising) {
  bool all = true;
  visit(index, [&](const ExprNode& n) { all = all && (n.kind != ExprKind::load || rising.contains(n.operand)); });
  return all;
}

/// True if a load along `axis` has an index that depends on data along `lane`.
bool reads_where_data_says(const Expr& value, const Axis& axis, const Axis& lane, const std::set<int>& rising) {
  bool found = false;
  visit(value, [&](const ExprNode& n) {
    if (n.kind != ExprKind::load) return;
    const auto any = [&](auto holds) { return std::any_of(n.args.begin(), n.args.end(), holds); };
    found =
        found || (any([&](const Expr& i) {
                    return is_data(i) && depends_on(i, lane.id) && !depends_on(i, axis.id) && !only_rises(i, rising);
                  }) &&
                  any([&](const Expr& i) { return depends_on(i, axis.id); }));
  });
  return found;
}

}  // namespace

std::optional<SharedWork> shared_work(const Stage& store, const Axis& lane, const std::vector<Axis>& outer,
                                      const std::set<int>& rising) {
  std::optional<SharedWork> best;
  int most = kLeastNodes - 1;
  for (const Axis& axis : outer) {
    if (axis.extent.is_constant() && axis.extent.constant() < kShortestAxis) continue;
    if (!reads_where_data_says(store.value, axis, lane, rising)) continue;
    SharedWork work{axis, {}};
    std::unordered_set<const ExprNode*> seen;
    collect(store.value, axis, lane, work.values, seen);
    int nodes = 0;
    for (const Expr& v : work.values) nodes += count_nodes(v);
    if (nodes <= most) continue;
    most = nodes;
    best = std::move(work);
  }
  return best;
}

}  // namespace gcg::cpu
