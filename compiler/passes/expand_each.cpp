#include "compiler/passes/expand_each.h"

#include "compiler/ops/infer.h"

namespace gcg {
namespace {

bool expand_all(Graph& graph, const OpDef& op, void (*expand)(Graph&, NodeId)) {
  bool changed = false;
  for (NodeId id : graph.order()) {
    for (size_t i = 0; i < graph.node(id).bodies.size(); ++i) changed |= expand_all(*graph.node(id).bodies[i], op, expand);
    if (graph.node(id).op != &op) continue;
    expand(graph, id);
    changed = true;
  }
  return changed;
}

}  // namespace

bool expand_each(Graph& graph, const OpDef& op, void (*expand)(Graph&, NodeId)) {
  const bool changed = expand_all(graph, op, expand);
  if (changed) infer_graph(graph);
  return changed;
}

}  // namespace gcg
