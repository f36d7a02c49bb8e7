// Finds operands that may be overwritten: an element is read only by the point that overwrites it. Reductions of the
// element's row may also read it, before any element of that row is stored.
#include "compiler/lowering/in_place.h"

#include <algorithm>

#include "compiler/kernel/kernel_parts.h"

namespace gcg {
namespace {

std::vector<const ExprNode*> loads_of(const Expr& e, const std::vector<int>& operands) {
  std::vector<const ExprNode*> out;
  visit(e, [&](const ExprNode& n) {
    if (n.kind == ExprKind::load && std::find(operands.begin(), operands.end(), n.operand) != operands.end())
      out.push_back(&n);
  });
  return out;
}

bool same_index(const ExprNode& load, const std::vector<Expr>& store) {
  if (load.args.size() != store.size()) return false;
  for (size_t i = 0; i < store.size(); ++i)
    if (key(load.args[i]) != key(store[i])) return false;
  return true;
}

/// True if a reduction stage reads exactly the row that the store stage writes for the same outer point.
bool same_row(const ExprNode& load, const Stage& stage, const Stage& store) {
  if (load.args.size() != 1 || store.index.size() != 1 || stage.axes.size() != 1 || store.axes.size() != 1)
    return false;
  if (!(stage.axes[0].extent == store.axes[0].extent)) return false;
  auto l = as_affine(load.args[0]), s = as_affine(store.index[0]);
  if (!l || !s || !(l->base == s->base)) return false;
  const Dim along = l->strides[stage.axes[0].id], stored = s->strides[store.axes[0].id];
  l->strides.erase(stage.axes[0].id);
  s->strides.erase(store.axes[0].id);
  return along == stored && l->strides == s->strides;
}

/// Looks for reads of the operands that are not reads of the stored element in the epilogue.
class ReadersOfParts : public PartVisitor {
 public:
  ReadersOfParts(const std::vector<int>& operands, const Expr& epilogue, const std::vector<Expr>& index)
      : operands_(operands), epilogue_(epilogue), index_(index) {}
  bool are_none() const { return none_; }
  void operand(int o) { none_ = none_ && std::find(operands_.begin(), operands_.end(), o) == operands_.end(); }
  void expr(const Expr& e) {
    if (!e) return;
    for (const ExprNode* load : loads_of(e, operands_)) none_ = none_ && e == epilogue_ && same_index(*load, index_);
  }

 private:
  const std::vector<int>& operands_;
  const Expr& epilogue_;
  const std::vector<Expr>& index_;
  bool none_ = true;
};

bool fits(const LoopKernel& k, const std::vector<int>& operands) {
  const Stage& store = k.stages.back();
  for (size_t i = 0; i + 1 < k.stages.size(); ++i)
    for (const ExprNode* load : loads_of(k.stages[i].value, operands))
      if (!same_row(*load, k.stages[i], store)) return false;
  for (const ExprNode* load : loads_of(store.value, operands))
    if (!same_index(*load, store.index)) return false;
  return true;
}

bool fits(const ProgramKernel& k, const std::vector<int>& operands) {
  return operands.size() == 1 && operands[0] == k.replaced;
}

/// True if only the epilogue reads the operands, each at the element that it stores.
template <Contraction Body>
bool fits(const Body& k, const std::vector<int>& operands) {
  ReadersOfParts readers(operands, k.epilogue, k.index);
  each_part(readers, k);
  return readers.are_none();
}

}  // namespace

std::vector<int> in_place_operands(const Kernel& kernel, const std::vector<ValueId>& storages) {
  std::vector<int> out;
  const auto result =
      std::find_if(kernel.operands.begin(), kernel.operands.end(), [](const Operand& o) { return o.written; });
  for (size_t i = 0; i < kernel.operands.size(); ++i) {
    const Operand& o = kernel.operands[i];
    if (o.written || size_of(o.dtype) != size_of(result->dtype) || !(product(o.shape) == product(result->shape)))
      continue;
    std::vector<int> same;  // all operands with this storage
    for (size_t j = 0; j < storages.size(); ++j)
      if (storages[j] == storages[i] && !kernel.operands[j].written) same.push_back(static_cast<int>(j));
    if (std::visit([&](const auto& body) { return fits(body, same); }, kernel.body)) out.push_back(static_cast<int>(i));
  }
  return out;
}

}  // namespace gcg
