#include "compiler/passes/merge_products.h"

#include <algorithm>
#include <optional>

#include "compiler/ops/deferred_constants.h"
#include "compiler/ops/infer.h"
#include "compiler/ops/ops.h"
#include "compiler/passes/rewrite.h"
#include "compiler/support/error.h"

namespace gcg {
namespace {

/// MatMul(x, weights), and the vector that is added to it, if any.
struct Part {
  NodeId product;
  ValueId x, weights, addend, result;
  std::string name, add_name;
  int64_t columns = 0;
};

class Merger {
 public:
  explicit Merger(Rewriter& r) : r_(r), users_(r.graph.users()) {}

  /// Merges the first set of products that can be merged.
  bool run() {
    std::vector<Part> parts;
    for (NodeId id : r_.graph.order()) {
      const Node& n = r_.graph.node(id);
      if (n.op->kind != OpKind::contraction) continue;
      std::optional<Part> part = part_of(id);
      const bool continues =
          part && !parts.empty() && part->x == parts[0].x && part->addend.valid() == parts[0].addend.valid();
      if (!continues && parts.size() > 1) break;
      if (!continues) parts.clear();
      if (part) parts.push_back(*std::move(part));
    }
    if (parts.size() < 2) return false;
    merge(parts);
    return true;
  }

 private:
  const std::vector<NodeId>& users(ValueId v) const { return users_[static_cast<size_t>(v.index)]; }
  const Node& node(NodeId id) const { return r_.graph.node(id); }
  /// True for a float constant of rank `rank` that has no other reader.
  bool is_own_constant(ValueId v, int64_t rank) const {
    const Tensor* t = r_.constant(v);
    return t != nullptr && t->dtype() == DType::f32 && t->rank() == rank && users(v).size() == 1;
  }

  std::optional<Part> part_of(NodeId id) const {
    const Node& n = node(id);
    if (n.op != &op_MatMul || !is_own_constant(n.inputs[1], 2) || r_.constant(n.inputs[0]) != nullptr) return {};
    Part part{id, n.inputs[0], n.inputs[1], {}, n.outputs[0], n.name, "", r_.constant(n.inputs[1])->shape()[1]};
    if (const auto& readers = users(part.result); readers.size() == 1 && node(readers[0]).op == &op_Add) {
      const Node& add = node(readers[0]);
      part.addend = add.inputs[add.inputs[0] == part.result ? 1 : 0];
      if (!is_own_constant(part.addend, 1) || r_.constant(part.addend)->elements() != part.columns) return {};
      if (r_.graph.is_output(part.result)) return {};
      part.result = add.outputs[0];
      part.add_name = add.name;
    }
    return goes_into_contractions(part.result) ? std::optional(part) : std::nullopt;
  }

  bool goes_into_contractions(ValueId v) const {
    if (r_.graph.is_output(v) || users(v).empty()) return false;
    return std::all_of(users(v).begin(), users(v).end(), [&](NodeId id) {
      const Node& n = node(id);
      if (n.op->kind == OpKind::contraction) return true;
      const bool moves = n.op->kind == OpKind::view || n.op->kind == OpKind::movement;
      return moves && std::all_of(n.outputs.begin(), n.outputs.end(),
                                  [&](ValueId out) { return !out.valid() || goes_into_contractions(out); });
    });
  }

  /// Joins the constants [K, N] or [N] side by side: [K, sum of N] or [sum of N].
  Tensor beside(const std::vector<Part>& parts, ValueId Part::* which) const {
    std::vector<int64_t> shape = r_.constant(parts[0].*which)->shape();
    shape.back() = 0;
    Recipe recipe{&op_Concat, {{"axis", int64_t{-1}}}, {}};
    for (const Part& p : parts) {
      shape.back() += p.columns;
      recipe.inputs.push_back(r_.value(p.*which).constant);
    }
    return computed_when_read(std::move(recipe), DType::f32, shape);
  }

  void merge(const std::vector<Part>& parts) {
    std::string name, add_name;
    std::vector<int64_t> columns;
    for (const Part& p : parts) {
      name = concat(name, name.empty() ? "" : "+", p.name);
      add_name = concat(add_name, add_name.empty() ? "" : "+", p.add_name);
      columns.push_back(p.columns);
    }
    const std::string& weights_name = r_.value(parts[0].weights).name;
    ValueId all = r_.add(op_MatMul, name, {parts[0].x, r_.add_constant(weights_name, beside(parts, &Part::weights))});
    if (parts[0].addend.valid()) {
      const std::string& addend_name = r_.value(parts[0].addend).name;
      all = r_.add(op_Add, add_name, {all, r_.add_constant(addend_name, beside(parts, &Part::addend))});
    }
    const ValueId sizes = r_.add_constant("columns", Tensor::vector_i64(columns));
    const NodeId split =
        r_.graph.add_node(op_Split, name, {all, sizes}, static_cast<int>(parts.size()), {{"axis", int64_t{-1}}});
    infer_node(r_.graph, split, r_.outermost);
    for (size_t i = 0; i < parts.size(); ++i) r_.replace(parts[i].result, node(split).outputs[i]);
    for (const Part& p : parts) {
      const NodeId last = r_.value(p.result).producer;
      r_.erase_if_dead(last);
      if (last != p.product) r_.erase_if_dead(p.product);
    }
  }

  Rewriter& r_;
  std::vector<std::vector<NodeId>> users_;
};

}  // namespace

bool merge_products(Graph& graph) {
  return edit_all(graph, [](Rewriter& r) {
    bool changed = false;
    while (Merger(r).run()) changed = true;
    return changed;
  });
}

}  // namespace gcg
