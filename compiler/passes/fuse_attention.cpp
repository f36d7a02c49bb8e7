#include "compiler/passes/fuse_attention.h"

#include <algorithm>
#include <iterator>

#include "compiler/kernel/device_traits.h"
#include "compiler/ops/fused_attention.h"
#include "compiler/ops/op_def.h"
#include "compiler/passes/attention_pattern.h"
#include "compiler/passes/inline_body.h"

namespace gcg {
namespace {

/// True for constants that move into the subgraph: single numbers, and shapes of views, which no kernel reads.
bool is_sunk(const Node& node, const Value& input) {
  return input.is_constant() && (input.constant->elements() == 1 || node.op->kind == OpKind::view);
}

class AttentionFusion {
 public:
  AttentionFusion(Graph& graph, NodeId last, const AttentionPattern& pattern, const std::vector<NodeId>& order)
      : g_(graph), last_(last), pattern_(pattern) {
    std::copy_if(order.begin(), order.end(), std::back_inserter(change_),
                 [&](NodeId id) { return pattern.change.count(id) != 0; });
  }

  void run() {
    make_body();
    const Node& product = g_.node(pattern_.product);
    Node& node = g_.node(last_);
    node.inputs = {product.inputs[0], product.inputs[1], node.inputs[1], pattern_.row_mask};
    node.inputs.insert(node.inputs.end(), captures_.begin(), captures_.end());
    node.op = &op("Attention", "gart");
    node.attributes.clear();
    if (pattern_.nan_to_zero) node.attributes[kNanToZeroAttribute] = int64_t{1};
    node.captures = static_cast<int>(captures_.size());
    node.bodies.push_back(std::move(body_));
  }

 private:
  void add_input(ValueId outer) {
    Value input = g_.value(outer);
    input.producer = NodeId();
    input.constant = nullptr;
    body_->inputs.push_back(body_->add_value(std::move(input)));
    values_[outer] = body_->inputs.back();
  }

  void make_body() {
    body_->name = "scores";
    add_input(g_.node(pattern_.product).outputs[0]);
    for (NodeId id : change_) {
      const Node& n = g_.node(id);
      for (ValueId in : n.inputs) {
        const bool is_captured = in.valid() && values_.count(in) == 0 && !is_sunk(n, g_.value(in));
        if (is_captured && pattern_.change.count(g_.value(in).producer) == 0) {
          add_input(in);
          captures_.push_back(in);
        }
      }
    }
    copy_nodes(g_, change_, *body_, values_);
    for (int64_t i = 0; i < body_->value_count(); ++i) {  // no value of the subgraph has storage
      body_->value(ValueId(i)).stored = DType::undefined;
      body_->value(ValueId(i)).channels_last = false;
    }
    body_->outputs = {values_.at(pattern_.scores)};
  }

  Graph& g_;
  NodeId last_;
  const AttentionPattern& pattern_;
  std::vector<NodeId> change_;  // in order
  std::unique_ptr<Graph> body_ = std::make_unique<Graph>();
  std::vector<ValueId> captures_;
  std::map<ValueId, ValueId> values_;
};

void erase_nodes(Graph& graph, const std::set<NodeId>& nodes, const std::vector<NodeId>& order) {
  for (auto it = order.rbegin(); it != order.rend(); ++it)
    if (nodes.count(*it) != 0) graph.erase_node(*it);
}

/// The product of all extents but the last two.
Dim entries(const Shape& shape) { return product(Shape(shape.begin(), shape.end() - 2)); }

/// True if one kernel takes no longer than a product, a Softmax and a product. With few queries, reading keys and
/// values limits the speed, and reading them one after the other is faster than alternating head by head. Measured on a
/// CPU, 12 heads of 64, 500 keys: 1 to 4 queries are 2 to 5 % slower, 8 are as fast, 32 are 3 % faster. Heads that
/// share keys are rows of one product, which reads the keys once. One kernel then needs more queries to be as fast.
bool is_worth_a_kernel(const Graph& graph, const AttentionPattern& pattern, const DeviceTraits& device) {
  if (device.fewest_queries == 0) return true;
  const Node& scores = graph.node(pattern.product);
  const Shape &q = *graph.value(scores.inputs[0]).shape, &k = *graph.value(scores.inputs[1]).shape;
  const Dim& queries = q[q.size() - 2];
  const Dim heads = entries(q), sharing = floor_div(heads, max(entries(k), 1));
  if (heads == entries(k)) return !queries.is_constant() || queries.constant() >= device.fewest_queries;
  return queries.is_constant() && sharing.is_constant() &&
         queries.constant() >= device.fewest_queries * sharing.constant();
}

bool fuse_all(Graph& graph, const DeviceTraits& device) {
  const auto users = graph.users();
  const std::vector<NodeId> order = graph.order();
  bool changed = false;
  for (NodeId id : order) {
    if (graph.node(id).erased) continue;
    for (const auto& body : graph.node(id).bodies) changed |= fuse_all(*body, device);
    if (graph.node(id).op != &op("MatMul")) continue;
    const auto pattern = find_attention(graph, id, users, device.largest_head);
    if (!pattern || !is_worth_a_kernel(graph, *pattern, device)) continue;
    AttentionFusion(graph, id, *pattern, order).run();
    erase_nodes(graph, pattern->nodes, order);
    changed = true;
  }
  return changed;
}

}  // namespace

bool fuse_attention(Graph& graph, const Target& target) { return fuse_all(graph, traits_of(target.device)); }

}  // namespace gcg
