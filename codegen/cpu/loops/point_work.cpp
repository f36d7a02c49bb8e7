#include "codegen/cpu/loops/point_work.h"

#include <functional>
#include <set>

#include "codegen/cpu/llvm/imports.h"
#include "compiler/kernel/access_analysis.h"
#include "compiler/kernel/loop_planning.h"

namespace gcg::cpu {

constexpr int64_t kTaskWork = 16384;

int64_t work_of_node(const ExprNode& e) {
  if (e.kind == ExprKind::binary) return import_of(e.binary, e.dtype).empty() ? 0 : 32;
  if (e.kind != ExprKind::unary || !is_float(e.dtype)) return 0;
  if (calls_per_element(e.unary, e.dtype)) return 32;
  return is_elementary_function(e) ? 4 : 0;
}

bool is_long_chain(const Expr& e) {
  bool expensive = false;
  visit(e, [&](const ExprNode& n) { expensive = expensive || work_of_node(n) > 0; });
  return expensive;
}

Dim work_of(const Expr& root) {
  Dim sum(1);
  std::set<const ExprNode*> seen;
  std::function<void(const Expr&)> add = [&](const Expr& e) {
    if (!seen.insert(e.get()).second) return;
    if (e->kind == ExprKind::reduce) {
      sum = sum + extent_of(e->reduce_axes) * work_of(e->args[0]);
      return;
    }
    sum = sum + Dim(work_of_node(*e));
    for (const Expr& a : e->args) add(a);
  };
  add(root);
  return sum;
}

Dim points_per_task(const Dim& work) { return max(Dim(1), floor_div(Dim(kTaskWork), max(Dim(1), work))); }

}  // namespace gcg::cpu
