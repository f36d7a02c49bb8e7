#include "codegen/cuda/vector_access.h"

#include <algorithm>
#include <unordered_map>

#include "compiler/kernel/access_analysis.h"

namespace gcg::cuda {

bool is_multiple(const Dim& dim, int64_t n) {
  return std::all_of(dim.terms().begin(), dim.terms().end(), [n](const auto& term) { return term.second % n == 0; });
}

bool is_aligned(const Operand& operand, const std::vector<Expr>& index, int lane, int64_t count) {
  const auto stride = address_stride(operand, index, lane);
  if (!stride || !stride->is(1)) return false;
  const std::vector<Dim> strides = access_strides(operand, index);
  for (size_t d = 0; d < index.size(); ++d) {
    if (!depends_on(index[d], lane) && is_multiple(strides[d], count)) continue;
    const auto affine = as_affine(index[d]);
    if (!affine || !is_multiple(affine->base * strides[d], count)) return false;
    for (const auto& [axis, step] : affine->strides)
      if (axis != lane && !is_multiple(step * strides[d], count)) return false;
  }
  return true;
}

namespace {

using Conditions = std::vector<std::pair<Expr, bool>>;

/// Walks over every path from the value to its loads: a load that is met on several counts only if it is not guarded.
class VectorLoadFinder {
 public:
  VectorLoadFinder(const std::vector<Operand>& operands, int lane, int64_t count,
                   const std::unordered_set<const ExprNode*>& skip)
      : operands_(operands), lane_(lane), count_(count), skip_(skip) {}

  std::vector<VectorLoad> run(const Expr& value) {
    walk(value, {}, true);
    if (steps_ > kMostSteps) std::erase_if(found_, [](const VectorLoad& v) { return v.load->guarded; });
    std::erase_if(found_, [&](const VectorLoad& v) { return v.load->guarded && meetings_[v.load.get()] > 1; });
    return std::move(found_);
  }

 private:
  static constexpr int kMostSteps = 2000;

  void walk(const Expr& e, const Conditions& conditions, bool uniform) {
    const bool met = ++meetings_[e.get()] > 1;
    if (skip_.contains(e.get()) || e->kind == ExprKind::reduce || ++steps_ > kMostSteps) return;
    if (e->kind == ExprKind::load && is_vector(*e, uniform)) {
      if (!met) found_.push_back({e, e->guarded ? conditions : Conditions{}});
      return;
    }
    if (e->kind != ExprKind::select) {
      for (const Expr& a : e->args) walk(a, conditions, uniform);
      return;
    }
    walk(e->args[0], conditions, uniform);
    const bool same = uniform && !depends_on(e->args[0], lane_) && !is_data(e->args[0]);
    for (size_t side : {1, 2}) {
      Conditions inside = conditions;
      inside.emplace_back(e->args[0], side == 1);
      walk(e->args[side], inside, same);
    }
  }

  bool is_vector(const ExprNode& e, bool uniform) const {
    if (!is_aligned(operands_[static_cast<size_t>(e.operand)], e.args, lane_, count_)) return false;
    const bool checked = std::any_of(e.args.begin(), e.args.end(), [](const Expr& i) { return is_data(i); });
    return !e.guarded || (uniform && !checked);
  }

  const std::vector<Operand>& operands_;
  int lane_;
  int64_t count_;
  const std::unordered_set<const ExprNode*>& skip_;
  std::vector<VectorLoad> found_;
  std::unordered_map<const ExprNode*, int> meetings_;
  int steps_ = 0;
};

}  // namespace

std::vector<VectorLoad> all_vector_loads(const Expr& value, const std::vector<Operand>& operands, int lane,
                                         int64_t count, const std::unordered_set<const ExprNode*>& skip) {
  return VectorLoadFinder(operands, lane, count, skip).run(value);
}

std::vector<Expr> vector_loads(const Expr& value, const std::vector<Operand>& operands, int lane, int64_t count,
                               const std::unordered_set<const ExprNode*>& skip) {
  std::vector<Expr> loads;
  for (VectorLoad& v : all_vector_loads(value, operands, lane, count, skip))
    if (v.conditions.empty()) loads.push_back(std::move(v.load));
  return loads;
}

int vector_count(const Stage& stage, const std::vector<Operand>& operands, int lane) {
  constexpr int64_t kBytes = 16;
  for (int count : {16, 8, 4, 2}) {
    int64_t widest = 0;
    bool useful = true;
    if (stage.kind == Stage::Kind::store) {
      const Operand& result = operands[static_cast<size_t>(stage.operand)];
      useful = is_aligned(result, stage.index, lane, count);
      widest = size_of(result.dtype);
    }
    const std::vector<VectorLoad> loads = all_vector_loads(stage.value, operands, lane, count);
    for (const VectorLoad& v : loads) widest = std::max(widest, size_of(v.load->dtype));
    if (stage.kind == Stage::Kind::reduce) useful = !loads.empty();
    if (useful && widest * count <= kBytes) return count;
  }
  return 1;
}

}  // namespace gcg::cuda
