#include "compiler/passes/transpose_weights.h"

#include <algorithm>
#include <map>
#include <numeric>

#include "compiler/kernel/machine.h"
#include "compiler/ops/deferred_constants.h"
#include "compiler/ops/op_def.h"
#include "compiler/ops/ops.h"
#include "compiler/passes/rewrite.h"

namespace gcg {
namespace {

constexpr int64_t kLeastElements = 4096;
constexpr int64_t kFewRows = 16;    // the most rows of a product that tensor cores compute directly from memory
constexpr int64_t kReadBytes = 16;  // of one access

/// A permutation that swaps the last two dimensions.
std::vector<int64_t> swapped(int64_t rank) {
  std::vector<int64_t> perm(static_cast<size_t>(rank));
  std::iota(perm.begin(), perm.end(), 0);
  std::swap(perm[perm.size() - 1], perm[perm.size() - 2]);
  return perm;
}

class WeightTransposer {
 public:
  WeightTransposer(Rewriter& r, const Target& target) : r_(r), target_(target) {
    for (int64_t i = 0; i < r_.graph.value_count(); ++i)
      if (const Value& v = r_.graph.value(ValueId(i)); v.is_constant()) values_.emplace(v.constant.get(), ValueId(i));
  }

  bool run() {
    std::map<ValueId, std::vector<NodeId>> products;
    for (NodeId id : r_.graph.order())
      if (const Node& n = r_.graph.node(id); n.op == &op_MatMul && is_matrix(n.inputs[1]) && !r_.constant(n.inputs[0]))
        products[n.inputs[1]].push_back(id);
    bool changed = false;
    for (const auto& [w, readers] : products) {
      if (!is_wanted(w, readers)) continue;
      const std::map<std::string, Attribute> attributes = {{"perm", swapped(r_.constant(w)->rank())}};
      const ValueId back = r_.add(op_Transpose, r_.value(w).name, {by_columns(w, attributes)}, attributes);
      for (NodeId id : readers) r_.graph.node(id).inputs[1] = back;
      changed = true;
    }
    if (changed) r_.forget_readers();
    return changed;
  }

 private:
  bool is_matrix(ValueId v) const {
    const Tensor* t = r_.constant(v);
    return t != nullptr && t->dtype() == DType::f32 && t->rank() >= 2 && t->elements() >= kLeastElements;
  }

  bool is_wanted(ValueId w, const std::vector<NodeId>& readers) const {
    const bool is_half = target_.precision == Precision::fp16 || target_.precision == Precision::bf16;
    const std::vector<int64_t>& shape = r_.constant(w)->shape();
    if (shape[shape.size() - 2] % (kReadBytes / (is_half ? 2 : 4)) != 0) return false;
    if (target_.name == "sm_90a") return true;
    return is_half && machine_of(target_).has_async_copies &&
           std::all_of(readers.begin(), readers.end(), [&](NodeId id) { return has_few_rows(r_.graph.node(id)); });
  }

  bool has_few_rows(const Node& product) const {
    Shape rows = r_.shape(product.inputs[0]);
    rows.pop_back();
    const Dim count = gcg::product(rows);
    return count.is_constant() && count.constant() <= kFewRows;
  }

  /// The transposed matrix: the constant that `w` was transposed from, or a new constant.
  ValueId by_columns(ValueId w, const std::map<std::string, Attribute>& attributes) {
    const TensorRef tensor = r_.value(w).constant;
    const auto& how = tensor->rearrangement();
    if (how && how->op == &op_Transpose && how->attributes == attributes)
      return value_of(how->source, r_.value(w).name);
    std::vector<int64_t> shape = tensor->shape();
    std::swap(shape[shape.size() - 1], shape[shape.size() - 2]);
    Tensor turned = computed_when_read({&op_Transpose, attributes, {tensor}}, tensor->dtype(), shape);
    turned.set_rearrangement(std::make_shared<const Rearrangement>(Rearrangement{&op_Transpose, attributes, tensor}));
    return r_.add_constant(r_.value(w).name, std::move(turned));
  }

  ValueId value_of(const TensorRef& tensor, const std::string& name) {
    if (const auto known = values_.find(tensor.get()); known != values_.end()) return known->second;
    return values_[tensor.get()] = r_.add_constant(name, *tensor);
  }

  Rewriter& r_;
  const Target& target_;
  std::map<const Tensor*, ValueId> values_;  // of constants
};

}  // namespace

bool transpose_weights(Graph& graph, const Target& target) {
  return edit_all(graph, [&](Rewriter& r) { return WeightTransposer(r, target).run(); });
}

}  // namespace gcg
