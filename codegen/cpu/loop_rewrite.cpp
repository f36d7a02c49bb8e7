#include "codegen/cpu/loop_rewrite.h"

#include "codegen/cpu/lane_analysis.h"

namespace gcg::cpu {
namespace {

/// The index as one linear index; null when it is not affine.
Expr flat_index(const Operand& operand, const std::vector<Expr>& index) {
  const std::vector<Dim> strides = access_strides(operand, index);
  Dim base(0);
  std::map<int, Dim> total;
  for (size_t d = 0; d < index.size(); ++d) {
    const auto affine = as_affine(index[d]);
    if (!affine) return nullptr;
    base = base + affine->base * strides[d];
    for (const auto& [axis, stride] : affine->strides) {
      auto [it, fresh] = total.try_emplace(axis, Dim(0));
      it->second = it->second + stride * strides[d];
    }
  }
  Expr sum = extent(base);
  for (const auto& [axis, stride] : total) {
    if (stride.is(0)) continue;
    sum = sum + axis_ref({axis, Dim::symbol("?")}) * extent(stride);  // an extent other than 1 keeps the reference
  }
  return sum;
}

/// Applies `change` to every load node below `e`.
Expr rewrite_loads(const Expr& e, const std::function<Expr(const Expr&)>& change) {
  return rewrite(e, [&](const Expr& node) -> Expr { return node->kind == ExprKind::load ? change(node) : nullptr; });
}

Expr with_args(const Expr& e, std::vector<Expr> args) {
  auto copy = std::make_shared<ExprNode>(*e);
  copy->args = std::move(args);
  return copy;
}

Expr without_axis(const Expr& e, int axis) {
  return rewrite(e, [axis](const Expr& node) -> Expr {
    return node->kind == ExprKind::axis && node->axis == axis ? index(0) : nullptr;
  });
}

/// The divisor of quotients and remainders of the axis; 0: none that divides its extent, or several.
int64_t common_divisor(const Stage& stage, const Axis& axis) {
  constexpr int64_t kSmallest = 8;  // shorter runs gain nothing from being an axis
  if (!axis.extent.is_constant()) return 0;
  int64_t divisor = 0;
  bool one = true;
  auto see = [&](const ExprNode& n) {
    if (n.kind != ExprKind::binary || (n.binary != BinaryOp::floor_div && n.binary != BinaryOp::mod)) return;
    const ExprNode &a = *n.args[0], &b = *n.args[1];
    if (a.kind != ExprKind::axis || a.axis != axis.id || b.kind != ExprKind::constant) return;
    one = one && (divisor == 0 || divisor == b.integer);
    divisor = b.integer;
  };
  visit(stage.value, see);
  for (const Expr& i : stage.index) visit(i, see);
  return one && divisor >= kSmallest && divisor < axis.extent.constant() && axis.extent.constant() % divisor == 0 ? divisor : 0;
}

/// Replaces axis references in all index arithmetic and simplifies it.
Expr replace_axis(const Expr& e, int axis, const Expr& replacement, const std::map<int, Dim>& extents) {
  return rewrite(e, [&](const Expr& node) -> Expr {
    if (node->kind == ExprKind::axis && node->axis == axis) return replacement;
    if (node->kind != ExprKind::binary || node->dtype != DType::i64 || !depends_on(node, axis)) return nullptr;
    return simplify_index(binary(node->binary, replace_axis(node->args[0], axis, replacement, extents),
                                 replace_axis(node->args[1], axis, replacement, extents)), extents);
  });
}

bool is_flat(const std::vector<Expr>& index) { return index.empty() || (index.size() == 1 && as_affine(index[0])); }

/// Axes that occur elsewhere than in flat addresses: they cannot change.
void collect_pinned(const Expr& e, std::set<int>& pinned, std::set<const ExprNode*>& seen) {
  if (!seen.insert(e.get()).second || (e->kind == ExprKind::load && is_flat(e->args))) return;
  if (e->kind == ExprKind::axis) pinned.insert(e->axis);
  for (const Expr& a : e->args) collect_pinned(a, pinned, seen);
}

bool mergeable(const Stage& stage, const Axis& a, const Axis& b) {
  bool same = true;
  visit_accesses(stage, [&](int, const std::vector<Expr>& index, bool) {
    if (!same || index.empty() || !is_flat(index)) return;
    auto affine = *as_affine(index[0]);
    same = affine.strides[a.id] == affine.strides[b.id] * b.extent;
  });
  return same;
}

}  // namespace

std::vector<Axis> split_axes(Stage& stage, const std::vector<Axis>& axes, int& next_id) {
  std::map<int, Dim> extents;
  for (const Axis& a : axes) extents[a.id] = a.extent;
  std::vector<Axis> result;
  for (const Axis& axis : axes) {
    const int64_t divisor = common_divisor(stage, axis);
    if (divisor == 0) {
      result.push_back(axis);
      continue;
    }
    const Axis quotient{next_id++, axis.extent.constant() / divisor}, remainder{next_id++, divisor};
    extents[quotient.id] = quotient.extent;
    extents[remainder.id] = remainder.extent;
    const Expr sum = axis_ref(quotient) * index(divisor) + axis_ref(remainder);
    stage.value = replace_axis(stage.value, axis.id, sum, extents);
    for (Expr& i : stage.index) i = replace_axis(i, axis.id, sum, extents);
    result.push_back(quotient);
    result.push_back(remainder);
  }
  return result;
}

void visit_accesses(const Stage& stage,
                    const std::function<void(int operand, const std::vector<Expr>& index, bool store)>& see) {
  auto loads = [&](const Expr& e) {
    visit(e, [&](const ExprNode& n) {
      if (n.kind == ExprKind::load) see(n.operand, n.args, false);
    });
  };
  loads(stage.value);
  for (const Expr& i : stage.index) loads(i);
  if (stage.kind == Stage::Kind::store) see(stage.operand, stage.index, true);
}

void flatten_accesses(Stage& stage, const std::vector<Operand>& operands) {
  std::function<Expr(const Expr&)> flatten = [&](const Expr& node) -> Expr {
    if (Expr flat = flat_index(operands[static_cast<size_t>(node->operand)], node->args))
      return with_args(node, node->args.empty() ? std::vector<Expr>{} : std::vector<Expr>{flat});
    std::vector<Expr> args;
    for (const Expr& a : node->args) args.push_back(rewrite_loads(a, flatten));
    return with_args(node, std::move(args));
  };
  stage.value = rewrite_loads(stage.value, flatten);
  if (stage.kind != Stage::Kind::store || stage.index.empty()) return;
  if (Expr flat = flat_index(operands[static_cast<size_t>(stage.operand)], stage.index)) stage.index = {flat};
  else for (Expr& i : stage.index) i = rewrite_loads(i, flatten);
}

std::vector<Axis> merge_axes(Stage& stage, std::vector<Axis> axes) {
  std::erase_if(axes, [](const Axis& a) { return a.extent.is(1); });
  std::set<int> pinned;
  std::set<const ExprNode*> seen;
  collect_pinned(stage.value, pinned, seen);
  if (!is_flat(stage.index))
    for (const Expr& i : stage.index) collect_pinned(i, pinned, seen);
  for (size_t k = axes.size(); k-- > 1;) {
    const Axis a = axes[k - 1];
    Axis& b = axes[k];
    if (pinned.contains(a.id) || pinned.contains(b.id) || !mergeable(stage, a, b)) continue;
    stage.value = without_axis(stage.value, a.id);
    for (Expr& i : stage.index) i = without_axis(i, a.id);
    axes[k - 1] = {b.id, a.extent * b.extent};
    axes.erase(axes.begin() + static_cast<std::ptrdiff_t>(k));
  }
  return axes;
}

}  // namespace gcg::cpu
