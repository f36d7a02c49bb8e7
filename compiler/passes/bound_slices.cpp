#include "compiler/passes/bound_slices.h"

#include "compiler/ops/infer.h"
#include "compiler/ops/movement.h"
#include "compiler/ops/ops.h"

namespace gcg {
namespace {

/// A value as the sum of another value and a known number.
struct Offset {
  ValueId base;
  int64_t offset = 0;
};

Offset offset_of(const Graph& graph, ValueId v) {
  const NodeId producer = graph.value(v).producer;
  if (!producer.valid() || graph.node(producer).op != &op_Add) return {v};
  const std::vector<ValueId>& terms = graph.node(producer).inputs;
  for (size_t i = 0; i < 2; ++i) {
    const TensorRef& number = graph.value(terms[i]).constant;
    if (number && is_int(number->dtype()) && number->elements() == 1) return {terms[1 - i], number->at_int(0)};
  }
  return {v};
}

bool bound(const Graph& graph, Node& n) {
  if (n.op != &op_Slice || n.has_attribute(kMostSliced)) return false;
  const Value& start = graph.value(n.inputs[1]);
  if (start.constant || !start.shape || start.shape->size() != 1 || !start.shape->front().is(1)) return false;
  const Offset from = offset_of(graph, n.inputs[1]), to = offset_of(graph, n.inputs[2]);
  if (from.base != to.base || to.offset <= from.offset) return false;
  n.attributes[kMostSliced] = to.offset - from.offset;
  return true;
}

bool bound_all(Graph& graph) {
  bool changed = false;
  for (int64_t i = 0; i < graph.node_count(); ++i) {
    Node& n = graph.node(NodeId(i));
    if (n.erased) continue;
    changed |= bound(graph, n);
    for (auto& body : n.bodies) changed |= bound_all(*body);
  }
  return changed;
}

}  // namespace

bool bound_slices(Graph& graph) {
  const bool changed = bound_all(graph);
  if (changed) infer_graph(graph);
  return changed;
}

}  // namespace gcg
