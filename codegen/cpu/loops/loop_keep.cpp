#include "codegen/cpu/loops/loop_keep.h"

#include <algorithm>
#include <functional>
#include <optional>

#include "compiler/kernel/access_analysis.h"

namespace gcg::cpu {
namespace {

/// True if the expression takes so many instructions that a store and a load are cheap in comparison.
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

Expr replace_equal(const Expr& e, const std::string& pattern, const Expr& replacement) {
  return rewrite(e, [&](const Expr& n) -> Expr { return key(n) == pattern ? replacement : nullptr; });
}

/// True if an operand that `e` reads may share the result's memory.
bool reads_result_memory(const Expr& e, const std::vector<Operand>& operands, int result) {
  const Dim size = product(operands[static_cast<size_t>(result)].shape);
  bool reads = false;
  visit(e, [&](const ExprNode& n) {
    if (n.kind == ExprKind::load) reads = reads || product(operands[static_cast<size_t>(n.operand)].shape) == size;
  });
  return reads;
}

bool has_one_axis(const Stage& s) { return s.axes.size() == 1; }

/// Applies if the last stage stores a function of the value that stage `r` folds. Returns the stored expression, with
/// `marker` in place of that value.
std::optional<Expr> function_of_reduced(const std::vector<Stage>& stages, size_t r, const Expr& marker) {
  const Stage &stage = stages[r], &last = stages.back();
  if (stage.kind != Stage::Kind::reduce || !has_one_axis(stage) || !is_expensive(stage.value)) return std::nullopt;
  if (!(stage.axes[0].extent == last.axes[0].extent)) return std::nullopt;
  const Expr value = rename_axis(stage.value, stage.axes[0], last.axes[0]);
  const Expr formula = replace_equal(last.value, key(value), marker);
  return formula == last.value ? std::nullopt : std::optional(formula);
}

/// True if the value that stage `r` folds may be kept in the result's memory until the last stage, which stores
/// `formula`.
bool fits_into_result(const std::vector<Stage>& stages, size_t r, const Expr& formula,
                      const std::vector<Operand>& operands) {
  const int result = stages.back().operand;
  return stages[r].value->dtype == operands[static_cast<size_t>(result)].dtype &&
         !reads_result_memory(formula, operands, result) &&
         std::none_of(stages.begin() + static_cast<std::ptrdiff_t>(r) + 1, stages.end() - 1, [&](const Stage& s) {
           return s.kind == Stage::Kind::store || reads_result_memory(s.value, operands, result);
         });
}

/// Makes the last stage of `stages` read the value that stage `r` stores at `index`, over the axis of the last stage.
KeptValue keep_at(std::vector<Stage>& stages, size_t r, const Expr& formula, const Expr& marker, int operand,
                  const std::vector<Expr>& index) {
  Stage& last = stages.back();
  last.value = replace_equal(formula, key(marker), load(operand, marker->dtype, index));
  KeptValue kept_value{static_cast<int>(r), operand, {}};
  for (const Expr& i : index) kept_value.index.push_back(rename_axis(i, last.axes[0], stages[r].axes[0]));
  return kept_value;
}

/// Calls `keep(r, formula, marker)` for the reduction stages, the last one first, until one keeps its value.
KeptValue keep_first(
    std::vector<Stage>& stages,
    const std::function<std::optional<KeptValue>(size_t r, const Expr& formula, const Expr& marker)>& keep) {
  const Stage& last = stages.back();
  if (stages.size() < 2 || last.kind != Stage::Kind::store || !has_one_axis(last)) return {};
  for (size_t r = stages.size() - 1; r-- > 0;) {
    const Expr marker = local_ref(-1, stages[r].value->dtype);  // placeholder for the value that will be loaded
    const auto formula = function_of_reduced(stages, r, marker);
    if (const auto kept_value = formula ? keep(r, *formula, marker) : std::nullopt) return *kept_value;
  }
  return {};
}

}  // namespace

KeptValue keep_reduced_value(std::vector<Stage>& stages, const std::vector<Operand>& operands) {
  return keep_first(stages, [&](size_t r, const Expr& formula, const Expr& marker) -> std::optional<KeptValue> {
    if (!fits_into_result(stages, r, formula, operands)) return std::nullopt;
    return keep_at(stages, r, formula, marker, stages.back().operand, stages.back().index);
  });
}

KeptValue keep_reduced_row(std::vector<Stage>& stages, std::vector<Operand>& operands) {
  return keep_first(stages, [&](size_t r, const Expr& formula, const Expr& marker) -> std::optional<KeptValue> {
    const Axis& axis = stages.back().axes[0];
    operands.push_back({marker->dtype, {axis.extent}, true});
    operands.back().array = true;
    return keep_at(stages, r, formula, marker, static_cast<int>(operands.size()) - 1, {axis_ref(axis)});
  });
}

}  // namespace gcg::cpu
