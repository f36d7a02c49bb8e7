#include "compiler/partition/node_work.h"

#include "compiler/kernel/typical_extent.h"
#include "compiler/ops/op_def.h"

namespace gcg {
namespace {

double elements_of(const Value& v) {
  double n = v.shape ? 1 : 0;
  if (v.shape)
    for (const Dim& d : *v.shape) n *= d.is_constant() ? static_cast<double>(d.constant()) : typical(d);
  return n;
}

/// Number of products that are summed for one element of the result: the weights of a filter for one output channel, or
/// a row of the first factor.
double depth_of(const Graph& graph, const Node& node) {
  const auto shape = [&](size_t i) -> const Shape* {
    if (i >= node.inputs.size() || !node.inputs[i].valid()) return nullptr;
    const auto& s = graph.value(node.inputs[i]).shape;
    return s ? &*s : nullptr;
  };
  const Shape *a = shape(0), *b = shape(1);
  if (b && b->size() > 2 && node.has_attribute("kernel_shape")) {
    double depth = 1;
    for (size_t d = 1; d < b->size(); ++d) depth *= typical((*b)[d]);
    return depth;
  }
  return a && !a->empty() ? typical(a->back()) : 1;
}

constexpr double kTypicalTrips = 8;  // per loop

}  // namespace

double bytes_of(const Value& value) { return elements_of(value) * static_cast<double>(size_of(value.dtype)); }

double work_of(const Graph& graph, const Node& node) {
  double results = 0, operands = 0;
  for (ValueId v : node.outputs)
    if (v.valid()) results += elements_of(graph.value(v));
  for (ValueId v : node.inputs)
    if (v.valid() && !graph.value(v).is_constant()) operands += elements_of(graph.value(v));
  double inside = 0;
  for (const auto& body : node.bodies)
    for (int64_t i = 0; i < body->node_count(); ++i)
      if (!body->node(NodeId(i)).erased) inside += work_of(*body, body->node(NodeId(i)));
  if (!node.bodies.empty()) return results + inside * (node.bodies.size() == 1 ? kTypicalTrips : 1);
  switch (node.op->kind) {
    case OpKind::view:
      return 0;
    case OpKind::contraction:
      return 2 * results * depth_of(graph, node);
    default:
      return results + operands;
  }
}

}  // namespace gcg
