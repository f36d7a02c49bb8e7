#include "compiler/passes/narrow_storage.h"

#include <algorithm>
#include <cmath>

#include "compiler/ops/op_def.h"

namespace gcg {
namespace {

constexpr float kModerate = 2048;             // constants with larger elements are masks, coordinates or limits
constexpr int64_t kLeastWeightElements = 64;  // smaller constants are not worth a kernel at load

bool is_product(const Node& n) { return n.op->kind == OpKind::contraction; }

/// Operators whose results may be stored in 16 bits if their operands may.
bool is_link(const Node& n) { return n.op->narrow() == Narrow::links; }

bool may_read(const Node& n) { return n.op->narrow() != Narrow::no; }

bool is_cast(const Node& n) { return n.op == &op("Cast") || n.op == &op("CastLike"); }

/// True if input `i` carries data.
bool carries(const Node& n, size_t i) { return i < static_cast<size_t>(n.op->traits.data_inputs); }

class Narrower {
 public:
  Narrower(Graph& graph, DType to) : g_(graph), to_(to), order_(graph.order()), users_(graph.users()) {
    const auto n = static_cast<size_t>(g_.value_count());
    wide_.resize(n);
    from_product_.resize(n);
    feeds_product_.resize(n);
    into_product_.resize(n);
    into_sum_.resize(n);
    free_.assign(n, true);
  }

  bool run() {
    bool changed = false;
    for (NodeId id : order_)
      for (const auto& body : node(id).bodies) changed |= Narrower(*body, to_).run();
    for (ValueId v : g_.outputs) free_[at(v)] = false;
    for (NodeId id : order_) go_forward(node(id));
    for (auto it = order_.rbegin(); it != order_.rend(); ++it) go_back(node(*it));
    for (int64_t i = 0; i < g_.value_count(); ++i)
      if (may_narrow(ValueId(i))) {
        g_.value(ValueId(i)).stored = to_;
        changed = true;
      }
    return changed;
  }

 private:
  static size_t at(ValueId v) { return static_cast<size_t>(v.index); }
  const Node& node(NodeId id) const { return g_.node(id); }
  const Value& value(ValueId v) const { return g_.value(v); }
  bool is_f32(ValueId v) const { return v.valid() && value(v).dtype == DType::f32; }

  /// True if some element is larger than activations usually are.
  bool has_large(const Tensor& t) const {
    const std::span<const float> all = t.as<float>();
    return std::any_of(all.begin(), all.end(), [](float x) { return !(std::abs(x) <= kModerate); });
  }
  bool is_wide(ValueId v) {
    const Value& x = value(v);
    if (!x.is_constant()) return wide_[at(v)];
    const auto [it, fresh] = wide_constants_.try_emplace(v, false);
    if (fresh) it->second = has_large(*x.constant);
    return it->second;
  }

  /// Derives range and origin of a node's results from those of its inputs.
  void go_forward(const Node& n) {
    bool wide = n.op->traits.magnitude == Magnitude::exact, from = is_product(n);
    for (size_t i = 0; i < n.inputs.size(); ++i) {
      const ValueId in = n.inputs[i];
      if (!in.valid() || !carries(n, i)) continue;
      if (is_cast(n)) wide |= is_int(value(in).dtype);
      if (!is_f32(in)) continue;
      wide |= is_wide(in);
      from |= is_link(n) && from_product_[at(in)];
    }
    for (ValueId out : n.outputs) {
      if (!out.valid()) continue;
      wide_[at(out)] = wide && n.op->traits.magnitude != Magnitude::bounded;
      from_product_[at(out)] = from;
    }
  }

  /// Derives the marks of a node's inputs from those of its results.
  void go_back(const Node& n) {
    const auto any = [&](const std::vector<bool>& marks) {
      return std::any_of(n.outputs.begin(), n.outputs.end(), [&](ValueId v) { return v.valid() && marks[at(v)]; });
    };
    const bool moves = n.op->kind == OpKind::view || n.op->kind == OpKind::movement;
    for (size_t i = 0; i < n.inputs.size(); ++i) {
      const ValueId in = n.inputs[i];
      if (!is_f32(in)) continue;
      const bool factor = is_product(n) && i < 2;
      if (factor || (is_link(n) && any(feeds_product_))) feeds_product_[at(in)] = true;
      if (factor || (moves && any(into_product_))) into_product_[at(in)] = true;
      if (is_residual_sum(n) || (moves && any(into_sum_))) into_sum_[at(in)] = true;
      const bool shares = n.op->kind == OpKind::view && !free_[at(n.outputs[0])];
      const bool rounds_again = is_cast(n) && value(n.outputs[0]).dtype == to_;
      if ((!may_read(n) && !rounds_again) || shares || !carries(n, i)) free_[at(in)] = false;
    }
  }

  /// True for the sum of two activations of one shape.
  bool is_residual_sum(const Node& n) const {
    return n.op == &op("Add") && std::all_of(n.inputs.begin(), n.inputs.end(), [&](ValueId in) {
             return !value(in).is_constant() && value(in).shape == value(n.outputs[0]).shape;
           });
  }

  /// True for a vector that is added only to products whose sums are stored in 16 bits. Libraries require a bias of the
  /// result's type.
  bool is_bias(ValueId v) {
    if (value(v).shape->size() != 1 || users_[at(v)].empty()) return false;
    return std::all_of(users_[at(v)].begin(), users_[at(v)].end(), [&](NodeId id) {
      const Node& n = node(id);
      if (n.op != &op("Add")) return false;
      const NodeId other = value(n.inputs[n.inputs[0] == v ? 1 : 0]).producer;
      return other.valid() && is_product(node(other)) && may_narrow(n.outputs[0]) && !joins_stream(n.outputs[0]);
    });
  }
  bool joins_stream(ValueId v) {
    return std::any_of(users_[at(v)].begin(), users_[at(v)].end(),
                       [&](NodeId id) { return is_residual_sum(node(id)) && !may_narrow(node(id).outputs[0]); });
  }

  bool may_narrow(ValueId v) {
    if (!is_f32(v) || !free_[at(v)] || value(v).contents) return false;
    if (value(v).is_constant()) {
      const bool is_factor = feeds_product_[at(v)] && value(v).shape->size() >= 2;
      return (is_factor || is_bias(v)) && value(v).constant->elements() >= kLeastWeightElements && !is_wide(v);
    }
    if (!value(v).producer.valid() || is_wide(v) || !(from_product_[at(v)] || feeds_product_[at(v)])) return false;
    const Node& n = node(value(v).producer);
    if (n.op->kind == OpKind::view) return false;  // a view has the storage of its operand
    const bool is_square = n.op == &op("Mul") && n.inputs[0] == n.inputs[1];
    const bool is_stream = is_residual_sum(n) && into_sum_[at(v)] && !into_product_[at(v)];
    return is_link(n) && !is_square && !is_stream;
  }

  Graph& g_;
  DType to_;
  std::vector<NodeId> order_;
  // Facts by value:
  std::vector<std::vector<NodeId>> users_;
  std::vector<bool> wide_;                          // large or exact
  std::vector<bool> from_product_, feeds_product_;  // along links
  std::vector<bool> into_product_;                  // a factor, possibly moved
  std::vector<bool> into_sum_;                      // the value is a term of a residual sum, possibly after movement
  std::vector<bool> free_;                          // no operator needs the value in f32
  std::map<ValueId, bool> wide_constants_;
};

}  // namespace

bool narrow_storage(Graph& graph, const Target& target) {
  if (target.precision == Precision::fp16) return Narrower(graph, DType::f16).run();
  if (target.precision == Precision::bf16) return Narrower(graph, DType::bf16).run();
  return false;
}

}  // namespace gcg
