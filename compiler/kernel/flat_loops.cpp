#include "compiler/kernel/flat_loops.h"

#include <algorithm>
#include <functional>
#include <map>
#include <set>

namespace gcg {
namespace {

Expr rebuild(const Affine& a, const std::map<int, Axis>& axes) {
  Expr sum = extent(a.base);
  for (const auto& [id, stride] : a.strides) {
    auto it = axes.find(id);
    Axis axis = it != axes.end() ? it->second : Axis{id, Dim::symbol("?")};
    sum = axis_ref(axis) * extent(stride) + sum;
  }
  return sum;
}

/// Every maximal affine index expression of a load, and every other use of an axis.
struct AxisUses {
  std::vector<Affine> forms;
  std::set<int> elsewhere;  // axes that are used outside of affine load indices
};

void collect(const Expr& root, AxisUses& out) {
  std::set<const ExprNode*> done;
  std::function<void(const Expr&)> go = [&](const Expr& e) {
    if (!done.insert(e.get()).second) return;
    if (e->kind == ExprKind::load && e->args.size() == 1)
      if (auto a = as_affine(e->args[0])) {
        out.forms.push_back(*a);
        return;
      }
    if (e->kind == ExprKind::axis) out.elsewhere.insert(e->axis);
    for (const Expr& a : e->args) go(a);
  };
  if (root->dtype == DType::i64)
    if (auto a = as_affine(root)) {
      out.forms.push_back(*a);
      return;
    }
  go(root);
}

Dim stride_of(const Affine& a, int axis) {
  auto it = a.strides.find(axis);
  return it == a.strides.end() ? Dim(0) : it->second;
}

/// Replaces axes p (outer) and q (inner) by m in an affine form.
Affine merged_form(Affine a, int p, int q, int m) {
  const Dim stride = stride_of(a, q);
  a.strides.erase(p);
  a.strides.erase(q);
  if (!stride.is(0)) a.strides[m] = stride;
  return a;
}

}  // namespace

Expr linear_index(const std::vector<Expr>& index_, const Shape& shape, const std::map<int, Dim>& extents) {
  Expr linear = index(0);
  for (size_t d = 0; d < index_.size(); ++d) linear = linear * extent(shape[d]) + index_[d];
  return simplify_index(linear, extents);
}

Expr FlatIndices::flatten(const Expr& root) {
  return rewrite(root, [&](const Expr& e) -> Expr {
    if (e->kind != ExprKind::load || e->args.empty()) return nullptr;
    const Operand operand = operands_[static_cast<size_t>(e->operand)];
    const Expr linear = linear_index(e->args, operand.shape, {});
    if (!as_affine(linear)) return nullptr;
    auto n = std::make_shared<ExprNode>(*e);
    n->args = {linear};
    if (operand.shape.size() != 1) {
      // A new operand views the same storage as a vector.
      n->operand = static_cast<int>(operands_.size());
      for (size_t i = 0; i < operands_.size(); ++i)
        if (operands_[i].flat_of == e->operand) n->operand = static_cast<int>(i);
      if (n->operand == static_cast<int>(operands_.size()))
        operands_.push_back(Operand{operand.dtype, {product(operand.shape)}, operand.written, e->operand});
    }
    return n;
  });
}

std::vector<Expr> FlatIndices::flatten_store(int o, const std::vector<Expr>& index) {
  Operand& operand = operands_[static_cast<size_t>(o)];
  const Expr linear = linear_index(index, operand.shape, {});
  if (!as_affine(linear)) return index;
  operand.shape = {product(operand.shape)};
  return {linear};
}

void merge_axes(std::vector<Axis>& axes, const std::vector<Expr*>& expressions, int& next_axis) {
  std::erase_if(axes, [](const Axis& a) { return a.extent.is(1); });
  for (size_t i = 0; i + 1 < axes.size();) {
    const Axis p = axes[i], q = axes[i + 1];
    AxisUses uses;
    for (Expr* e : expressions) collect(*e, uses);
    const bool mergeable = !uses.elsewhere.count(p.id) && !uses.elsewhere.count(q.id) &&
                           std::all_of(uses.forms.begin(), uses.forms.end(), [&](const Affine& a) {
                             return stride_of(a, p.id) == stride_of(a, q.id) * q.extent;
                           });
    if (!mergeable) {
      ++i;
      continue;
    }
    const Axis m{next_axis++, p.extent * q.extent};
    const std::map<int, Axis> known = {{m.id, m}};
    auto replace = [&](const Expr& index_) -> Expr {
      const auto a = as_affine(index_);
      return a && (a->strides.count(p.id) || a->strides.count(q.id)) ? rebuild(merged_form(*a, p.id, q.id, m.id), known)
                                                                     : nullptr;
    };
    for (Expr* e : expressions) {
      if ((*e)->dtype == DType::i64)
        if (Expr r = replace(*e)) {
          *e = r;
          continue;
        }
      *e = rewrite(*e, [&](const Expr& x) -> Expr {
        if (x->kind != ExprKind::load || x->args.size() != 1) return nullptr;
        Expr r = replace(x->args[0]);
        if (!r) return nullptr;
        auto n = std::make_shared<ExprNode>(*x);
        n->args = {r};
        return n;
      });
    }
    axes[i] = m;
    axes.erase(axes.begin() + static_cast<int64_t>(i) + 1);
    if (i > 0) --i;
  }
}

int fresh_axis_id(const LoopKernel& loop) {
  int highest = 0;
  const auto see = [&](const std::vector<Axis>& axes) {
    for (const Axis& a : axes) highest = std::max(highest, a.id);
  };
  see(loop.outer);
  for (const Stage& stage : loop.stages) {
    see(stage.axes);
    visit(stage.value, [&](const ExprNode& n) { see(n.reduce_axes); });
  }
  return highest + 1;
}

}  // namespace gcg
