#include "compiler/passes/rewrite.h"

#include <algorithm>

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

int64_t Rewriter::uses(ValueId v) const {
  int64_t count = std::count(graph.outputs.begin(), graph.outputs.end(), v);
  for (int64_t i = 0; i < graph.node_count(); ++i) {
    const std::vector<ValueId>& inputs = graph.node(NodeId(i)).inputs;
    count += std::count(inputs.begin(), inputs.end(), v);
  }
  return count;
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
  // What was made to take the place of a value takes its name too (replace_uses sees to that for outputs).
  if (to.index > from.index && !graph.is_output(from)) std::swap(graph.value(from).name, graph.value(to).name);
  graph.replace_uses(from, to);
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
