// Decides which reductions get their own stage, which axes are outer ones, and which axes are merged.
//
// A reduction is *hoisted* into a stage if its value is shared along some axis (a row's maximum), or if memory runs
// along the reduction axis. Otherwise it stays inside the store (a pooling window over channel vectors). The outer axes
// are those that hoisted reductions depend on. All other axes belong to the store.
#include "compiler/lowering/loop_schedule.h"

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <string>

#include "compiler/kernel/access_analysis.h"
#include "compiler/kernel/flat_loops.h"
#include "compiler/kernel/loop_planning.h"
#include "compiler/support/error.h"

namespace gcg {
namespace {

/// Splits axes (of the domain and of reductions) that are used as axis/c and axis%c, where c divides the extent.
/// Indices then become affine.
class AxisSplitter {
 public:
  AxisSplitter(std::vector<Axis>& domain, int& next_axis) : domain_(domain), next_axis_(next_axis) {}

  void run(std::vector<Expr*> expressions) {
    for (int round = 0; round < 8; ++round) {
      std::map<int, Dim> extents;
      for (const Axis& a : domain_) extents[a.id] = a.extent;
      for (Expr* e : expressions) collect_reduce_extents(*e, extents);
      auto found = find(expressions, extents);
      if (!found) return;
      split(found->first, found->second, expressions, extents);
    }
  }

 private:
  static void collect_reduce_extents(const Expr& e, std::map<int, Dim>& extents) {
    visit(e, [&](const ExprNode& n) {
      for (const Axis& a : n.reduce_axes) extents[a.id] = a.extent;
    });
  }

  static std::optional<Dim> divisor_of(const ExprNode& n) {
    if (n.kind != ExprKind::binary || n.dtype != DType::i64 || n.args[0]->kind != ExprKind::axis) return std::nullopt;
    if (n.binary != BinaryOp::floor_div && n.binary != BinaryOp::mod) return std::nullopt;
    if (n.args[1]->kind == ExprKind::constant) return Dim(n.args[1]->integer);
    if (n.args[1]->kind == ExprKind::extent) return n.args[1]->dim;
    return std::nullopt;
  }

  std::optional<std::pair<Axis, Dim>> find(const std::vector<Expr*>& expressions,
                                           const std::map<int, Dim>& extents) const {
    std::optional<std::pair<Axis, Dim>> found;
    for (Expr* root : expressions)
      visit(*root, [&](const ExprNode& n) {
        if (found) return;
        const auto divisor = divisor_of(n);
        if (!divisor || divisor->is(0)) return;
        const auto axis = extents.find(n.args[0]->axis);
        if (axis == extents.end() || axis->second == *divisor) return;
        if (floor_div(axis->second, *divisor) * *divisor == axis->second)
          found = {{axis->first, axis->second}, *divisor};
      });
    return found;
  }

  void split(const Axis& old, const Dim& divisor, const std::vector<Expr*>& expressions, std::map<int, Dim> extents) {
    const Axis high{next_axis_++, floor_div(old.extent, divisor)}, low{next_axis_++, divisor};
    extents[high.id] = high.extent;
    extents[low.id] = low.extent;
    const Expr both = axis_ref(high) * extent(divisor) + axis_ref(low);
    auto split_axes = [&](std::vector<Axis>& axes) {
      const auto it = std::find_if(axes.begin(), axes.end(), [&](const Axis& a) { return a.id == old.id; });
      if (it == axes.end()) return false;
      *it = high;
      axes.insert(it + 1, low);
      return true;
    };
    std::function<Expr(const Expr&)> replace = [&](const Expr& x) -> Expr {
      if (x->kind == ExprKind::axis && x->axis == old.id) return both;
      if (x->kind != ExprKind::reduce) return nullptr;
      std::vector<Axis> axes = x->reduce_axes;
      return split_axes(axes) ? reduce(x->reduce, std::move(axes), rewrite(x->args[0], replace)) : nullptr;
    };
    for (Expr* root : expressions)
      *root = rewrite(rewrite(*root, replace), [&](const Expr& x) -> Expr {
        if (x->dtype != DType::i64 || x->kind != ExprKind::binary) return nullptr;
        return simplify_index(x, extents);
      });
    split_axes(domain_);
  }

  std::vector<Axis>& domain_;
  int& next_axis_;
};

/// True if the load's address advances by 1 to `most` elements along the axis.
bool short_stride(const ExprNode& load, int axis, int64_t most) {
  if (load.args.size() != 1) return false;
  const auto a = as_affine(load.args[0]);
  if (!a) return false;
  auto it = a->strides.find(axis);
  return it != a->strides.end() && it->second.is_constant() && it->second.constant() >= 1 &&
         it->second.constant() <= most;
}

bool unit_stride(const ExprNode& load, int axis) { return short_stride(load, axis, 1); }

class Stager {
 public:
  Stager(const std::vector<Axis>& domain, int& next_axis) : domain_(domain), next_axis_(next_axis) {}

  LoopKernel run(Expr value, int result, std::vector<Expr> store_index) {
    if (!domain_.empty()) last_ = domain_.back().id;
    value = hoist(value);
    std::vector<Axis> outer, inner;
    for (const Axis& a : domain_) (outer_.count(a.id) ? outer : inner).push_back(a);
    LoopKernel kernel;
    kernel.stages = std::move(stages_);
    Stage store;
    store.value = value;
    store.operand = result;
    store.index = std::move(store_index);
    kernel.stages.push_back(std::move(store));

    merge_axes(outer, pointers(kernel), next_axis_);
    merge_axes(inner, pointers(kernel), next_axis_);
    for (size_t s = 0; s + 1 < kernel.stages.size(); ++s)
      merge_axes(kernel.stages[s].axes, {&kernel.stages[s].value}, next_axis_);
    kernel.outer = std::move(outer);
    kernel.stages.back().axes = std::move(inner);
    return kernel;
  }

 private:
  static std::vector<Expr*> pointers(LoopKernel& k) {
    std::vector<Expr*> out;
    for (Stage& s : k.stages) {
      out.push_back(&s.value);
      for (Expr& i : s.index) out.push_back(&i);
    }
    return out;
  }

  Expr hoist(const Expr& root) {
    return rewrite(root, [&](const Expr& e) -> Expr {
      // A stage outside of the select would also execute loads that are only valid on one side of it.
      if (e->kind == ExprKind::select && (has_guarded_load(e->args[1]) || has_guarded_load(e->args[2]))) return e;
      if (e->kind != ExprKind::reduce) return nullptr;
      const std::set<int> free = free_axes(e);
      for (int a : free)
        if (std::none_of(domain_.begin(), domain_.end(), [&](const Axis& d) { return d.id == a; })) return nullptr;
      if (stays_inside(*e, free)) return nullptr;
      Stage stage;
      stage.kind = Stage::Kind::reduce;
      stage.axes = e->reduce_axes;
      stage.reduce = e->reduce;
      stage.value = hoist(e->args[0]);
      outer_.insert(free.begin(), free.end());
      // Locals used inside are computed per point of their own axes.
      const std::string k = key(stage.value) + std::to_string(static_cast<int>(stage.reduce));
      if (auto it = known_.find(k); it != known_.end()) return local_ref(it->second, e->dtype);
      stage.local = static_cast<int>(stages_.size());
      known_[k] = stage.local;
      stages_.push_back(std::move(stage));
      return local_ref(stages_.back().local, e->dtype);
    });
  }

  bool stays_inside(const ExprNode& r, const std::set<int>& free) const {
    const bool shared = std::any_of(domain_.begin(), domain_.end(), [&](const Axis& a) { return !free.count(a.id); });
    if (shared) return false;
    // A window is too short for vectors along it; vectors across it read every second to fourth element.
    const bool window = extent_of(r.reduce_axes).upper_bound().value_or(1 << 20) <= 64;
    int along_reduction = 0, along_domain = 0;
    visit(r.args[0], [&](const ExprNode& n) {
      if (n.kind != ExprKind::load) return;
      along_reduction += unit_stride(n, r.reduce_axes.back().id);
      along_domain += short_stride(n, last_, window ? 4 : 1);
    });
    if (along_domain > 0) return along_domain >= along_reduction;
    // Vectors are efficient in neither direction: a window stays inside the store, and a long reduction gets a stage.
    return along_reduction == 0 && window;
  }

  const std::vector<Axis>& domain_;
  int& next_axis_;
  int last_ = -1;
  std::set<int> outer_;
  std::vector<Stage> stages_;
  std::map<std::string, int> known_;
};

}  // namespace

LoopKernel schedule_loops(const std::vector<Axis>& domain, const Expr& value, int result,
                          const std::vector<Expr>& index, FlatIndices flat, int& next_axis) {
  std::vector<Axis> axes = domain;
  std::erase_if(axes, [](const Axis& a) { return a.extent.is(1); });
  Expr v = value;
  std::vector<Expr> store = index;
  std::vector<Expr*> all = {&v};
  for (Expr& i : store) all.push_back(&i);
  AxisSplitter(axes, next_axis).run(all);
  v = flat.flatten(v);
  store = flat.flatten_store(result, store);
  return Stager(axes, next_axis).run(v, result, store);
}

}  // namespace gcg
