#include "compiler/passes/sink_constants.h"

#include "compiler/ops/infer.h"

namespace gcg {
namespace {

bool sink(Graph& graph, Node& node) {
  bool changed = false;
  for (std::ptrdiff_t from_end = 1; from_end <= node.captures;) {
    const Value& captured = graph.value(*(node.inputs.end() - from_end));
    if (!captured.is_constant()) {
      ++from_end;
      continue;
    }
    for (auto& body : node.bodies) {
      Value& inside = body->value(*(body->inputs.end() - from_end));
      inside.dtype = captured.dtype;
      inside.shape = captured.shape;
      inside.contents.reset();
      inside.constant = captured.constant;
      body->inputs.erase(body->inputs.end() - from_end);
    }
    node.inputs.erase(node.inputs.end() - from_end);
    --node.captures;
    changed = true;
  }
  return changed;
}

bool sink_all(Graph& graph) {
  bool changed = false;
  for (int64_t i = 0; i < graph.node_count(); ++i) {
    Node& node = graph.node(NodeId(i));
    if (node.erased) continue;
    changed |= sink(graph, node);
    for (auto& body : node.bodies) changed |= sink_all(*body);
  }
  return changed;
}

}  // namespace

bool sink_constants(Graph& graph) {
  const bool changed = sink_all(graph);
  if (changed) infer_graph(graph);  // shapes inside subgraphs may be known now
  return changed;
}

}  // namespace gcg
