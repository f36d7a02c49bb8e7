#include "compiler/train/capture_parameter.h"

#include <algorithm>

namespace gcg {
namespace {

bool reads(const Graph& body, const Tensor* tensor) {
  for (int64_t v = 0; v < body.value_count(); ++v)
    if (body.value(ValueId(v)).constant.get() == tensor) return true;
  const std::vector<NodeId> order = body.order();
  return std::any_of(order.begin(), order.end(), [&](NodeId id) {
    const auto& bodies = body.node(id).bodies;
    return std::any_of(bodies.begin(), bodies.end(), [&](const auto& inner) { return reads(*inner, tensor); });
  });
}

ValueId add_input(Graph& body, const Value& like) {
  Value input;
  input.name = like.name;
  input.dtype = like.dtype;
  input.shape = like.shape;
  body.inputs.push_back(body.add_value(std::move(input)));
  return body.inputs.back();
}

}  // namespace

bool capture_parameter(Graph& graph, const Tensor* tensor, ValueId parameter) {
  bool found = false;
  for (NodeId id : graph.order()) {
    Node& node = graph.node(id);
    if (std::none_of(node.bodies.begin(), node.bodies.end(), [&](const auto& b) { return reads(*b, tensor); }))
      continue;
    found = true;
    node.inputs.push_back(parameter);
    ++node.captures;
    for (const auto& body : node.bodies) {
      const ValueId inside = add_input(*body, graph.value(parameter));
      for (int64_t v = 0; v < body->value_count(); ++v)
        if (body->value(ValueId(v)).constant.get() == tensor) body->replace_uses(ValueId(v), inside);
      capture_parameter(*body, tensor, inside);
    }
  }
  return found;
}

}  // namespace gcg
