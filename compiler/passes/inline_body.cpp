#include "compiler/passes/inline_body.h"

#include <algorithm>

#include "compiler/ops/op_def.h"

namespace gcg {
namespace {

Node clone_node(const Node& node) {
  Node copy{node.op, node.name, node.inputs, node.outputs, node.attributes, {}, node.captures, node.erased};
  for (const auto& body : node.bodies) copy.bodies.push_back(std::make_unique<Graph>(body->clone()));
  return copy;
}

ValueId copy_value(const Value& value, Graph& to) {
  Value copy = value;
  copy.producer = NodeId();
  return to.add_value(std::move(copy));
}

bool is_input(const Graph& graph, ValueId id) {
  return std::find(graph.inputs.begin(), graph.inputs.end(), id) != graph.inputs.end();
}

/// Makes every use of `from` read `to`. A graph output that cannot be `to` itself becomes a copy of it.
void redirect(Graph& graph, ValueId from, ValueId to) {
  const bool output = graph.is_output(from);
  if (!output || !(is_input(graph, to) || graph.value(to).is_constant() || graph.is_output(to)))
    return graph.replace_uses(from, to);
  Node identity;
  identity.op = &op("Identity");
  identity.name = graph.value(from).name;
  identity.inputs = {to};
  identity.outputs = {from};
  graph.add_node(std::move(identity));
}

}  // namespace

void forget_symbols(Node& node) {
  node.attributes.erase(kSymbolsAttribute);
  for (auto& body : node.bodies)
    for (int64_t i = 0; i < body->node_count(); ++i) forget_symbols(body->node(NodeId(i)));
}

void copy_nodes(const Graph& from, const std::vector<NodeId>& nodes, Graph& to, std::map<ValueId, ValueId>& values) {
  for (NodeId id : nodes) {
    Node copy = clone_node(from.node(id));
    forget_symbols(copy);
    for (ValueId& input : copy.inputs) {
      if (!input.valid()) continue;
      if (values.count(input) == 0) {
        GCG_CHECK(from.value(input).is_constant(), "value '", from.value(input).name, "' has no place in the copy");
        values[input] = copy_value(from.value(input), to);
      }
      input = values.at(input);
    }
    for (ValueId& output : copy.outputs)
      if (output.valid()) output = values[output] = copy_value(from.value(output), to);
    to.add_node(std::move(copy));
  }
}

void inline_body(Graph& graph, NodeId id, int taken) {
  const std::unique_ptr<Graph> body = std::move(graph.node(id).bodies.at(static_cast<size_t>(taken)));
  std::map<ValueId, ValueId> values;
  const std::vector<ValueId> inputs = graph.node(id).inputs, outputs = graph.node(id).outputs;
  const size_t own = inputs.size() - body->inputs.size();
  for (size_t i = 0; i < body->inputs.size(); ++i) values[body->inputs[i]] = inputs[own + i];
  copy_nodes(*body, body->order(), graph, values);
  for (ValueId output : body->outputs)
    if (values.count(output) == 0) values[output] = copy_value(body->value(output), graph);  // a constant
  graph.constraints.insert(graph.constraints.end(), body->constraints.begin(), body->constraints.end());
  graph.erase_node(id);
  for (size_t i = 0; i < outputs.size(); ++i)
    if (outputs[i].valid()) redirect(graph, outputs[i], values.at(body->outputs[i]));
}

}  // namespace gcg
