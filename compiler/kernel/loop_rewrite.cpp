#include "compiler/kernel/loop_rewrite.h"

#include "compiler/kernel/access_analysis.h"

namespace gcg {
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
  if (Expr flat = flat_index(operands[static_cast<size_t>(stage.operand)], stage.index))
    stage.index = {flat};
  else
    for (Expr& i : stage.index) i = rewrite_loads(i, flatten);
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

}  // namespace gcg
