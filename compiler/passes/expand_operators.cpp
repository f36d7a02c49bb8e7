#include "compiler/passes/expand_operators.h"

#include "compiler/ops/expansion.h"
#include "compiler/ops/infer.h"
#include "compiler/passes/rewrite.h"
#include "compiler/support/error.h"

namespace gcg {
namespace {

bool expand_all(Rewriter& r) {
  bool changed = false;
  for (NodeId id : r.graph.order()) {
    if (expand_of(*r.graph.node(id).op) == nullptr) continue;
    expand_operator(r.graph, id);
    changed = true;
  }
  return changed;
}

}  // namespace

void expand_operator(Graph& graph, NodeId id) {
  Expansion expansion(graph, graph.node(id), graph.node(id).inputs);
  const std::vector<ValueId> results = expand_of(*graph.node(id).op)(expansion);
  const std::vector<ValueId> outputs = graph.node(id).outputs;
  for (size_t i = 0; i < outputs.size(); ++i)
    if (outputs[i].valid()) expansion.replace(outputs[i], results.at(i));
  graph.erase_node(id);
}

bool expand_operators(Graph& graph) {
  bool changed = false;
  // Repeats, because an expansion may contain composite operators.
  for (; edit_all(graph, expand_all); changed = true) infer_graph(graph);
  return changed;
}

}  // namespace gcg
