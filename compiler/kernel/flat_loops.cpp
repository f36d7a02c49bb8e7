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
    if (e->kind == ExprKind::axis) out.elsewhere.insert(e->axis);
    for (const Expr& i : e->args) {
      auto a = e->kind == ExprKind::load ? as_affine(i) : std::nullopt;
      a ? out.forms.push_back(*a) : go(i);
    }
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

/// Joins neighbouring dimensions that have affine indices. False if there are none.
bool join_affine(const std::vector<Expr>& from, const Shape& extents, std::vector<Expr>& index_, Shape& shape) {
  index_.clear();
  shape.clear();
  bool after_affine = false;
  for (size_t d = 0; d < from.size(); ++d) {
    const bool is_affine = as_affine(from[d]).has_value();
    if (after_affine && is_affine) {
      index_.back() = simplify_index(index_.back() * extent(extents[d]) + from[d], {});
      shape.back() = shape.back() * extents[d];
    } else {
      index_.push_back(from[d]);
      shape.push_back(extents[d]);
    }
    after_affine = is_affine;
  }
  return index_.size() < from.size();
}

}  // namespace

Expr linear_index(const std::vector<Expr>& index_, const Shape& shape, const std::map<int, Dim>& extents) {
  Expr linear = index(0);
  for (size_t d = 0; d < index_.size(); ++d) linear = linear * extent(shape[d]) + index_[d];
  return simplify_index(linear, extents);
}

int FlatIndices::view_of(int o, const Shape& shape) {
  const Operand& whole = operands_[static_cast<size_t>(o)];
  if (shape == whole.shape) return o;
  const auto found = std::find_if(operands_.begin(), operands_.end(),
                                  [&](const Operand& other) { return other.flat_of == o && other.shape == shape; });
  if (found != operands_.end()) return static_cast<int>(found - operands_.begin());
  operands_.push_back(Operand{whole.dtype, shape, whole.written, o});
  return static_cast<int>(operands_.size()) - 1;
}

Expr FlatIndices::flatten(const Expr& root) {
  return rewrite(root, [&](const Expr& e) -> Expr {
    if (e->kind != ExprKind::load || e->args.empty()) return nullptr;
    const Shape whole = operands_[static_cast<size_t>(e->operand)].shape;
    std::vector<Expr> index = {linear_index(e->args, whole, {})};
    Shape shape = {product(whole)};
    if (!as_affine(index[0]) && !(joins_dimensions_ && join_affine(e->args, whole, index, shape))) return nullptr;
    auto n = std::make_shared<ExprNode>(*e);
    n->operand = view_of(e->operand, shape);
    n->args.clear();
    for (const Expr& i : index) n->args.push_back(as_affine(i) ? i : flatten(i));
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
      const std::function<Expr(const Expr&)> replace_indices = [&](const Expr& x) -> Expr {
        if (x->kind != ExprKind::load) return nullptr;
        auto n = std::make_shared<ExprNode>(*x);
        for (Expr& at : n->args) {
          const Expr r = replace(at);
          at = r ? r : rewrite(at, replace_indices);
        }
        return n->args == x->args ? x : n;
      };
      *e = rewrite(*e, replace_indices);
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
