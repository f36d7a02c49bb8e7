#include "compiler/passes/expand_each.h"

#include "compiler/ops/infer.h"

namespace gcg {
namespace {

template <class Expand>
bool expand_all(Graph& graph, const OpDef& op, Expand&& expand) {
  bool changed = false;
  for (NodeId id : graph.order()) {
    for (size_t i = 0; i < graph.node(id).bodies.size(); ++i)
      changed |= expand_all(*graph.node(id).bodies[i], op, expand);
    if (graph.node(id).op == &op) changed |= expand(graph, id);
  }
  return changed;
}

template <class Expand>
bool expand_and_infer(Graph& graph, const OpDef& op, Expand&& expand) {
  const bool changed = expand_all(graph, op, expand);
  if (changed) infer_graph(graph);
  return changed;
}

}  // namespace

bool expand_each(Graph& graph, const OpDef& op, void (*expand)(Graph&, NodeId)) {
  return expand_and_infer(graph, op, [&](Graph& g, NodeId id) { return expand(g, id), true; });
}

bool expand_some(Graph& graph, const OpDef& op, bool (*expand)(Graph&, NodeId)) {
  return expand_and_infer(graph, op, expand);
}

}  // namespace gcg
