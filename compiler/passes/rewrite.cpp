#include "compiler/passes/rewrite.h"

#include <algorithm>
#include <utility>

#include "compiler/ops/infer.h"
#include "compiler/ops/op_def.h"
#include "compiler/support/error.h"

namespace gcg {

const Tensor* Rewriter::constant(ValueId v) const { return v.valid() ? graph.value(v).constant.get() : nullptr; }

const Node* Rewriter::producer(ValueId v, const OpDef& op) const {
  if (!v.valid() || !graph.value(v).producer.valid()) return nullptr;
  const Node& n = graph.node(graph.value(v).producer);
  return n.op == &op ? &n : nullptr;
}

std::vector<NodeId>& Rewriter::readers(ValueId v) const {
  readers_.resize(static_cast<size_t>(graph.value_count()));
  for (; indexed_ < graph.node_count(); ++indexed_)
    for (ValueId in : graph.node(NodeId(indexed_)).inputs)
      if (in.valid()) readers_[static_cast<size_t>(in.index)].emplace_back(indexed_);
  return readers_[static_cast<size_t>(v.index)];
}

/// Stops at the second reader, because a value may have very many. Removes nodes that no longer read the value from the
/// list.
int64_t Rewriter::uses(ValueId v) const {
  std::vector<NodeId>& nodes = readers(v);
  int64_t count = 0;
  for (size_t i = nodes.size(); i-- > 0 && count < 2;) {
    const std::vector<ValueId>& inputs = graph.node(nodes[i]).inputs;
    const auto reads = std::count(inputs.begin(), inputs.end(), v);
    if (reads == 0 || (count == 1 && nodes[i] == nodes.back())) {
      nodes.erase(nodes.begin() + static_cast<std::ptrdiff_t>(i));
    } else {
      std::swap(nodes[i], nodes.back());
      count += reads;
    }
  }
  if (count < 2) count += std::count(graph.outputs.begin(), graph.outputs.end(), v);
  return std::min<int64_t>(count, 2);
}

ValueId Rewriter::add(const OpDef& op, const std::string& name, std::vector<ValueId> inputs,
                      std::map<std::string, Attribute> attributes) {
  const NodeId id = graph.add_node(op, name, std::move(inputs), 1, std::move(attributes));
  infer_node(graph, id, outermost);
  return graph.node(id).outputs[0];
}

bool Rewriter::can_replace(ValueId from, ValueId to) const {
  if (!graph.is_output(from)) return true;
  return graph.value(to).producer.valid() && !graph.is_output(to);
}

bool Rewriter::replace(ValueId from, ValueId to) {
  if (from == to || !can_replace(from, to)) return false;
  // A new value takes the name of the value that it replaces (replace_uses does this for outputs). An output keeps its
  // own name.
  if (to.index > from.index && !graph.is_output(from) && !graph.is_output(to))
    std::swap(graph.value(from).name, graph.value(to).name);
  const std::vector<NodeId> nodes = std::exchange(readers(from), {});
  for (NodeId n : nodes) std::replace(graph.node(n).inputs.begin(), graph.node(n).inputs.end(), from, to);
  readers(to).insert(readers(to).end(), nodes.begin(), nodes.end());
  if (graph.is_output(from)) graph.replace_uses(from, to);  // replace_uses moves the output's name to `to`
  return true;
}

void Rewriter::make_constant(ValueId v, TensorRef data) {
  Value& value = graph.value(v);
  if (value.producer.valid()) {
    graph.node(value.producer).outputs[static_cast<size_t>(value.output_index)] = ValueId();
    value.producer = NodeId();
  }
  value.dtype = data->dtype();
  value.shape = to_shape(data->shape());
  value.constant = std::move(data);
  value.contents.reset();
}

void Rewriter::erase_if_dead(NodeId id) {
  const std::vector<ValueId>& outputs = graph.node(id).outputs;
  const bool read = std::any_of(outputs.begin(), outputs.end(), [&](ValueId v) { return v.valid() && is_read(v); });
  if (!read) graph.erase_node(id);
}

void Rewriter::forget_readers() {
  readers_.clear();
  indexed_ = 0;
}

namespace {

bool edit_from(Graph& graph, Graph& outermost, const std::function<bool(Rewriter&)>& edit) {
  bool changed = false;
  for (int64_t i = 0; i < graph.node_count(); ++i)
    for (size_t b = 0; b < graph.node(NodeId(i)).bodies.size(); ++b)
      changed |= edit_from(*graph.node(NodeId(i)).bodies[b], outermost, edit);
  Rewriter rewriter(graph, outermost);
  return edit(rewriter) || changed;
}

}  // namespace

bool edit_all(Graph& graph, const std::function<bool(Rewriter&)>& edit) { return edit_from(graph, graph, edit); }

bool is_all(const Tensor* tensor, double value) {
  if (!tensor) return false;
  for (int64_t i = 0; i < tensor->elements(); ++i)
    if (tensor->at_double(i) != value) return false;
  return true;
}

}  // namespace gcg
