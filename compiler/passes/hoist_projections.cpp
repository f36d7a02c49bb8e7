#include "compiler/passes/hoist_projections.h"

#include <algorithm>
#include <optional>
#include <string>

#include "compiler/ops/control_types.h"
#include "compiler/ops/infer.h"
#include "compiler/ops/node_builder.h"
#include "compiler/ops/ops.h"

namespace gcg {
namespace {

/// A product of one element of a captured value and a matrix.
struct Projection {
  NodeId product, bias;  // nodes of the subgraph; bias: the Add of a bias, if there is one
  ValueId index;         // in the subgraph
  int64_t axis = 0;
  ValueId stacked, matrix;  // before the loop
  std::optional<Tensor> offset;
};

bool holds(const Graph& graph, ValueId v) {
  const auto known = known_elements(graph.value(v));
  return (known && known->size() == 1 && known->front().is(1)) ||
         (graph.value(v).is_constant() && graph.value(v).constant->elements() == 1 &&
          graph.value(v).constant->at_int(0) != 0);
}

/// The number of iterations of a loop that no condition ends.
std::optional<Dim> trip_count(const Graph& graph, const Node& loop) {
  const Graph& body = *loop.bodies[0];
  const bool goes_on = body.outputs[0] == body.inputs[1] || holds(body, body.outputs[0]);
  if (!goes_on || !loop.inputs[0].valid() || (loop.inputs[1].valid() && !holds(graph, loop.inputs[1])))
    return std::nullopt;
  const auto count = known_elements(graph.value(loop.inputs[0]));
  return count && count->size() == 1 ? std::optional(count->front()) : std::nullopt;
}

/// The value outside the loop that the subgraph sees as its captured value `v`; constants are copied.
ValueId before_loop(Graph& graph, const Node& loop, ValueId v) {
  const Graph& body = *loop.bodies[0];
  if (body.value(v).is_constant()) return graph.add_constant(body.value(v).name, *body.value(v).constant);
  const auto at = std::find(body.inputs.end() - loop.captures, body.inputs.end(), v);
  return at == body.inputs.end() ? ValueId() : *(loop.inputs.end() - (body.inputs.end() - at));
}

bool is_invariant(const Node& loop, ValueId v) {
  const Graph& body = *loop.bodies[0];
  return body.value(v).is_constant() ||
         std::find(body.inputs.end() - loop.captures, body.inputs.end(), v) != body.inputs.end();
}

/// The only reader of a value, if it adds a constant vector to it.
NodeId bias_of(const Graph& body, const std::vector<std::vector<NodeId>>& users, ValueId v) {
  const auto& readers = users[static_cast<size_t>(v.index)];
  if (readers.size() != 1 || body.is_output(v)) return {};
  const Node& add = body.node(readers[0]);
  if (add.op != &op_Add) return {};
  const Value& other = body.value(add.inputs[add.inputs[0] == v ? 1 : 0]);
  return other.is_constant() && other.constant->rank() <= 1 ? readers[0] : NodeId();
}

std::optional<Projection> projection_of(Graph& graph, const Node& loop, NodeId id, const Dim& count) {
  const Graph& body = *loop.bodies[0];
  const Node& product = body.node(id);
  if (product.op != &op_MatMul || !is_invariant(loop, product.inputs[1]) ||
      body.value(product.inputs[1]).shape->size() != 2)
    return std::nullopt;
  const NodeId from = body.value(product.inputs[0]).producer;
  if (!from.valid() || body.node(from).op != &op_Gather) return std::nullopt;
  const Node& element = body.node(from);
  const Value& stacked = body.value(element.inputs[0]);
  if (!is_invariant(loop, element.inputs[0]) || !body.value(element.inputs[1]).shape->empty()) return std::nullopt;
  const auto rank = static_cast<int64_t>(stacked.shape->size());
  const int64_t attribute = element.int_attribute("axis", 0), axis = attribute < 0 ? attribute + rank : attribute;
  if (axis > rank - 2 || !((*stacked.shape)[static_cast<size_t>(axis)] == count)) return std::nullopt;
  Projection p{id, bias_of(body, body.users(), product.outputs[0]), element.inputs[1], axis, {}, {}, {}};
  if (p.bias.valid()) {
    const Node& add = body.node(p.bias);
    p.offset = *body.value(add.inputs[add.inputs[0] == product.outputs[0] ? 1 : 0]).constant;
  }
  p.stacked = before_loop(graph, loop, element.inputs[0]);
  p.matrix = before_loop(graph, loop, product.inputs[1]);
  return p;
}

void hoist(Graph& graph, NodeId loop, const Projection& p) {
  Graph& body = *graph.node(loop).bodies[0];
  const std::string name = body.node(p.product).name;
  NodeBuilder b(graph, name);
  ValueId all = b.node(op_MatMul, {p.stacked, p.matrix});
  if (p.offset) all = b.add(all, b.constant(*p.offset));
  Value captured;
  captured.name = body.unique_name(name + ".projected");
  Node& n = graph.node(loop);
  n.inputs.push_back(all);
  ++n.captures;
  body.inputs.push_back(body.add_value(std::move(captured)));
  NodeBuilder inside(body, name);
  const ValueId element = inside.node(op_Gather, {body.inputs.back(), p.index}, {{"axis", p.axis}});
  inside.replace(body.node(p.bias.valid() ? p.bias : p.product).outputs[0], element);
  if (p.bias.valid()) body.erase_node(p.bias);
  body.erase_node(p.product);
}

bool hoist_all(Graph& graph) {
  bool changed = false;
  for (NodeId id : graph.order()) {
    for (size_t i = 0; i < graph.node(id).bodies.size(); ++i) changed |= hoist_all(*graph.node(id).bodies[i]);
    if (graph.node(id).op != &op_Loop) continue;
    const auto count = trip_count(graph, graph.node(id));
    if (!count || count->is(1)) continue;
    for (NodeId inner : graph.node(id).bodies[0]->order()) {
      const auto p = projection_of(graph, graph.node(id), inner, *count);
      if (!p) continue;
      hoist(graph, id, *p);
      changed = true;
    }
  }
  return changed;
}

}  // namespace

bool hoist_projections(Graph& graph) {
  const bool changed = hoist_all(graph);
  if (changed) infer_graph(graph);
  return changed;
}

}  // namespace gcg
