#include "compiler/passes/attention_pattern.h"

#include <algorithm>

#include "compiler/ops/op_def.h"

namespace gcg {
namespace {

class Finder {
 public:
  Finder(const Graph& graph, const std::vector<std::vector<NodeId>>& users, int64_t largest_head)
      : g_(graph), users_(users), largest_head_(largest_head) {}

  std::optional<AttentionPattern> find(NodeId end) {
    const Node& last = g_.node(end);
    if (!is_matrix_product(last) || !fits_head(value(last.outputs[0]).shape->back())) return std::nullopt;
    const ValueId p = past_views(last.inputs[0]);
    const ValueId s = found_.scores = softmax_of(p);
    if (!s.valid() || !find_product(s)) return std::nullopt;
    const Node& first = g_.node(found_.product);
    const Shape &shape = *value(first.outputs[0]).shape, &q = *value(first.inputs[0]).shape;
    const Shape& result = *value(last.outputs[0]).shape;
    if (!std::equal(shape.begin(), shape.end() - 1, result.begin(), result.end() - 1))
      return std::nullopt;  // V broadcasts
    if (shape != *value(last.inputs[0]).shape || !(shape.back() == value(s).shape->back())) return std::nullopt;
    if (!fits_head(q.back())) return std::nullopt;
    found_.nodes.insert(found_.product);
    found_.nodes.insert(found_.change.begin(), found_.change.end());
    return is_private(end) ? std::optional(found_) : std::nullopt;
  }

 private:
  const Value& value(ValueId v) const { return g_.value(v); }
  const Node* producer(ValueId v) const { return value(v).producer.valid() ? &g_.node(value(v).producer) : nullptr; }
  static bool is(const Node& n, std::string_view name) {
    return n.op->name == name && std::string_view(n.op->domain).empty();
  }

  bool is_matrix_product(const Node& n) const {
    return is(n, "MatMul") && value(n.outputs[0]).dtype == DType::f32 && value(n.inputs[0]).shape->size() >= 2 &&
           value(n.inputs[1]).shape->size() >= 2;
  }
  bool fits_head(const Dim& size) const {
    return largest_head_ == 0 || (size.is_constant() && size.constant() <= largest_head_);
  }

  ValueId past_views(ValueId v) {
    for (const Node* n = producer(v); n != nullptr && n->op->kind == OpKind::view; n = producer(v)) {
      found_.nodes.insert(value(v).producer);
      v = n->inputs[0];
    }
    return v;
  }

  bool is_zero(ValueId v) const {
    const Value& x = value(v);
    return x.is_constant() && x.constant->elements() == 1 && x.constant->at_double(0) == 0;
  }

  /// The input of the softmax that computes p, possibly with some rows set to zero; none if p is not a softmax.
  ValueId softmax_of(ValueId p) {
    const Node* n = producer(p);
    if (n != nullptr && is(*n, "Where")) {
      p = rows_kept(*n, value(p).producer);
      n = p.valid() ? producer(p) : nullptr;
    }
    if (n == nullptr || !is(*n, "Softmax")) return ValueId();
    const auto rank = static_cast<int64_t>(value(p).shape->size());
    const int64_t axis = n->int_attribute("axis", -1);
    if (axis != -1 && axis != rank - 1) return ValueId();
    found_.nodes.insert(value(p).producer);
    return n->inputs[0];
  }

  /// P of Where(some, P, 0) or Where(IsNaN(P), 0, P).
  ValueId rows_kept(const Node& where, NodeId id) {
    const ValueId condition = where.inputs[0];
    found_.nodes.insert(id);
    if (is_zero(where.inputs[2]) && same_for_all_keys(condition) && same_shape(where.inputs[1], where.outputs[0])) {
      found_.row_mask = condition;
      return where.inputs[1];
    }
    const Node* test = producer(condition);
    if (test == nullptr || !is(*test, "IsNaN") || test->inputs[0] != where.inputs[2] || !is_zero(where.inputs[1]))
      return ValueId();
    found_.nodes.insert(value(condition).producer);
    found_.nan_to_zero = true;
    return where.inputs[2];
  }
  bool same_for_all_keys(ValueId v) const { return value(v).shape->empty() || value(v).shape->back().is(1); }
  bool same_shape(ValueId a, ValueId b) const { return *value(a).shape == *value(b).shape; }

  /// Searches backward from a value of the scores' size for the one matrix product that it comes from.
  bool find_product(ValueId v) {
    leads(v, product(*value(v).shape));
    return found_.product.valid() && !several_;
  }

  /// True if v comes from a matrix product through nodes that keep the order of elements. These nodes change the
  /// scores.
  bool leads(ValueId v, const Dim& size) {
    if (const auto it = leads_.find(v); it != leads_.end()) return it->second;
    leads_[v] = false;
    const Node* n = producer(v);
    if (n == nullptr || n->outputs.size() != 1 || value(v).dtype != DType::f32 || !(product(*value(v).shape) == size))
      return false;
    const NodeId id = value(v).producer;
    if (is_matrix_product(*n)) {
      several_ = several_ || (found_.product.valid() && found_.product != id);
      found_.product = id;
      return leads_[v] = true;
    }
    bool found = false;
    if (n->op->kind == OpKind::view) {
      found = leads(n->inputs[0], size);
    } else if (n->op->kind == OpKind::pointwise) {
      for (ValueId in : n->inputs)
        if (in.valid() && leads(in, size)) found = true;
    }
    if (found) found_.change.insert(id);
    return leads_[v] = found;
  }

  /// True if only the pattern reads the results of its nodes.
  bool is_private(NodeId last) const {
    return std::all_of(found_.nodes.begin(), found_.nodes.end(), [&](NodeId id) {
      const ValueId v = g_.node(id).outputs[0];
      const auto& readers = users_[static_cast<size_t>(v.index)];
      return !g_.is_output(v) && std::all_of(readers.begin(), readers.end(),
                                             [&](NodeId r) { return r == last || found_.nodes.count(r) != 0; });
    });
  }

  const Graph& g_;
  const std::vector<std::vector<NodeId>>& users_;
  const int64_t largest_head_;
  AttentionPattern found_;
  bool several_ = false;
  std::map<ValueId, bool> leads_;
};

}  // namespace

std::optional<AttentionPattern> find_attention(const Graph& graph, NodeId last,
                                               const std::vector<std::vector<NodeId>>& users, int64_t largest_head) {
  return Finder(graph, users, largest_head).find(last);
}

}  // namespace gcg
