#include "codegen/cuda/vector_access.h"

#include <algorithm>
#include <functional>
#include <unordered_set>

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

std::vector<Expr> vector_loads(const Expr& value, const std::vector<Operand>& operands, int lane, int64_t count,
                               const std::unordered_set<const ExprNode*>& skip) {
  std::vector<Expr> loads;
  std::unordered_set<const ExprNode*> seen = skip;
  std::function<void(const Expr&)> collect = [&](const Expr& e) {
    if (!seen.insert(e.get()).second || e->kind == ExprKind::reduce) return;
    const bool vector = e->kind == ExprKind::load && !e->guarded &&
                        is_aligned(operands[static_cast<size_t>(e->operand)], e->args, lane, count);
    if (vector) return loads.push_back(e);
    for (const Expr& a : e->args) collect(a);
  };
  collect(value);
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
    const std::vector<Expr> loads = vector_loads(stage.value, operands, lane, count);
    for (const Expr& e : loads) widest = std::max(widest, size_of(e->dtype));
    if (stage.kind == Stage::Kind::reduce) useful = !loads.empty();
    if (useful && widest * count <= kBytes) return count;
  }
  return 1;
}

}  // namespace gcg::cuda
