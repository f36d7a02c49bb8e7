#include "compiler/passes/select_branches.h"

#include <algorithm>

#include "compiler/kernel/machine.h"
#include "compiler/kernel/typical_extent.h"
#include "compiler/ops/op_def.h"
#include "compiler/passes/inline_body.h"

namespace gcg {
namespace {

double elements(const Value& value) {
  double n = 1;
  for (const Dim& d : *value.shape) n *= typical(d);
  return n;
}

/// True if the node cannot fail and its extents do not depend on data.
bool is_safe(const Graph& graph, const Node& n) {
  const bool is_typed =
      std::ranges::all_of(n.outputs, [&](ValueId v) { return !v.valid() || graph.value(v).shape.has_value(); });
  const bool is_factor = n.op->kind != OpKind::contraction || graph.value(n.inputs[1]).shape->size() > 0;
  if (!n.bodies.empty() || n.has_attribute(kSymbolsAttribute) || !is_typed || !is_factor) return false;
  switch (n.op->kind) {
    case OpKind::pointwise:
    case OpKind::reduction:
    case OpKind::contraction:
      return n.op->lower != nullptr;
    case OpKind::view:
    case OpKind::movement: {
      // Accepts Concat, and operators that place elements at known strides. Others may use indices from data, which may
      // be out of range.
      if (n.op == &op("Concat")) return true;
      return n.op->is_strided() && std::all_of(n.inputs.begin() + 1, n.inputs.end(),
                                               [&](ValueId v) { return !v.valid() || graph.value(v).is_constant(); });
    }
    default:
      return false;
  }
}

/// Microseconds of a subgraph's nodes: kernels that are not pointwise, bytes, operations.
double microseconds(const Graph& body) {
  const Machine& gpu = typical_gpu();
  double kernels = 1, bytes = 0, operations = 0;
  for (NodeId id : body.order()) {
    const Node& n = body.node(id);
    const bool is_sum = n.op->kind == OpKind::contraction || n.op->kind == OpKind::reduction;
    kernels += is_sum ? 1 : 0;
    for (ValueId v : n.outputs)
      if (v.valid()) bytes += 2 * elements(body.value(v)) * static_cast<double>(size_of(body.value(v).dtype));
    if (n.op->kind != OpKind::contraction) continue;
    // The right factor has its columns in the first or the last dimension. The other dimensions have at least as many
    // elements as the sums have terms.
    const Value& right = body.value(n.inputs[1]);
    const double columns = std::min(typical(right.shape->front()), typical(right.shape->back()));
    operations += 2 * elements(body.value(n.outputs[0])) * elements(right) / columns;
  }
  return kernels * gpu.nodes.shortest + 1e6 * bytes / gpu.bytes_per_second + 1e6 * operations / gpu.flops_per_second();
}

bool is_cheap(const Graph& body) {
  const std::vector<NodeId> order = body.order();
  return body.constraints.empty() &&
         std::ranges::all_of(order, [&](NodeId id) { return is_safe(body, body.node(id)); }) &&
         microseconds(body) < kConditionalNode;
}

/// True if a Where of the condition and the results of both subgraphs gives the node's results.
bool can_select(const Graph& graph, const Node& n) {
  const Graph &taken = *n.bodies[0], &other = *n.bodies[1];
  const Value& condition = graph.value(n.inputs[0]);
  if (!condition.shape) return false;
  for (size_t i = 0; i < n.outputs.size(); ++i) {
    if (!n.outputs[i].valid()) continue;
    const Value &a = taken.value(taken.outputs[i]), &b = other.value(other.outputs[i]);
    if (!a.shape || !b.shape || a.dtype != b.dtype || *a.shape != *b.shape) return false;
    if (a.shape->size() < condition.shape->size() || graph.value(n.outputs[i]).shape != a.shape) return false;
  }
  return !n.has_attribute(kSymbolsAttribute) && is_cheap(taken) && is_cheap(other);
}

/// Copies the nodes of a subgraph before the If; returns the values of its results.
std::vector<ValueId> spliced(Graph& graph, const Graph& body, const std::vector<ValueId>& inputs) {
  std::map<ValueId, ValueId> values;
  const size_t own = inputs.size() - body.inputs.size();
  for (size_t i = 0; i < body.inputs.size(); ++i) values[body.inputs[i]] = inputs[own + i];
  copy_nodes(body, body.order(), graph, values);
  std::vector<ValueId> results;
  for (ValueId v : body.outputs) {
    if (values.count(v) == 0)
      values[v] = graph.add_constant(graph.unique_name(body.value(v).name), *body.value(v).constant);
    results.push_back(values.at(v));
  }
  return results;
}

void select(Graph& graph, NodeId id) {
  const std::unique_ptr<Graph> taken = std::move(graph.node(id).bodies[0]), other = std::move(graph.node(id).bodies[1]);
  const std::string name = graph.node(id).name;
  const std::vector<ValueId> inputs = graph.node(id).inputs, outputs = graph.node(id).outputs;
  const std::vector<ValueId> first = spliced(graph, *taken, inputs), second = spliced(graph, *other, inputs);
  graph.erase_node(id);
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (!outputs[i].valid()) continue;
    Node where;
    where.op = &op("Where");
    where.name = name;
    where.inputs = {inputs[0], first[i], second[i]};
    where.outputs = {outputs[i]};
    graph.add_node(std::move(where));
  }
}

}  // namespace

bool select_branches(Graph& graph) {
  bool changed = false;
  for (NodeId id : graph.order()) {
    for (const auto& body : graph.node(id).bodies) changed |= select_branches(*body);
    if (graph.node(id).op != &op("If") || !can_select(graph, graph.node(id))) continue;
    select(graph, id);
    changed = true;
  }
  return changed;
}

}  // namespace gcg
