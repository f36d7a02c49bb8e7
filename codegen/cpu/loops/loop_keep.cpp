#include "codegen/cpu/loops/loop_keep.h"

#include <algorithm>

#include "compiler/kernel/access_analysis.h"

namespace gcg::cpu {
namespace {

/// Takes many instructions to compute, so that a store and a load are cheap beside it.
bool is_expensive(const Expr& e) {
  bool expensive = false;
  visit(e, [&](const ExprNode& n) { expensive = expensive || is_elementary_function(n); });
  return expensive;
}

Expr rename_axis(const Expr& e, const Axis& from, const Axis& to) {
  return rewrite(e, [&](const Expr& n) -> Expr {
    return n->kind == ExprKind::axis && n->axis == from.id ? axis_ref(to) : nullptr;
  });
}

Expr replace_equal(const Expr& e, const std::string& wanted, const Expr& replacement) {
  return rewrite(e, [&](const Expr& n) -> Expr { return key(n) == wanted ? replacement : nullptr; });
}

/// May an operand that `e` reads lie in the result's memory?
bool reads_result_memory(const Expr& e, const std::vector<Operand>& operands, int result) {
  const Dim size = product(operands[static_cast<size_t>(result)].shape);
  bool reads = false;
  visit(e, [&](const ExprNode& n) {
    if (n.kind == ExprKind::load) reads = reads || product(operands[static_cast<size_t>(n.operand)].shape) == size;
  });
  return reads;
}

bool has_one_axis(const Stage& s) { return s.axes.size() == 1; }

}  // namespace

KeptValue keep_reduced_value(std::vector<Stage>& stages, const std::vector<Operand>& operands) {
  Stage& last = stages.back();
  if (stages.size() < 2 || last.kind != Stage::Kind::store || !has_one_axis(last)) return {};
  for (size_t r = stages.size() - 1; r-- > 0;) {
    const Stage& stage = stages[r];
    if (stage.kind != Stage::Kind::reduce || !has_one_axis(stage) || !is_expensive(stage.value)) continue;
    if (!(stage.axes[0].extent == last.axes[0].extent) ||
        stage.value->dtype != operands[static_cast<size_t>(last.operand)].dtype)
      continue;
    const Expr value = rename_axis(stage.value, stage.axes[0], last.axes[0]);
    const Expr marker = local_ref(-1, value->dtype);  // stands for the loaded value while the rest is looked at
    const Expr rest = replace_equal(last.value, key(value), marker);
    if (rest == last.value || reads_result_memory(rest, operands, last.operand)) continue;
    const bool safe =
        std::none_of(stages.begin() + static_cast<std::ptrdiff_t>(r) + 1, stages.end() - 1, [&](const Stage& s) {
          return s.kind == Stage::Kind::store || reads_result_memory(s.value, operands, last.operand);
        });
    if (!safe) continue;
    last.value = replace_equal(rest, key(marker), load(last.operand, value->dtype, last.index));
    KeptValue kept{static_cast<int>(r), last.operand, {}};
    for (const Expr& i : last.index) kept.index.push_back(rename_axis(i, last.axes[0], stage.axes[0]));
    return kept;
  }
  return {};
}

}  // namespace gcg::cpu
