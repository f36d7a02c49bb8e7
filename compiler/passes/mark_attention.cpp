#include "compiler/passes/mark_attention.h"

#include "compiler/ops/op_def.h"
#include "compiler/ops/attention_pattern.h"

namespace gcg {
namespace {

bool mark(Graph& graph) {
  const auto users = graph.users();
  bool changed = false;
  for (NodeId id : graph.order()) {
    for (const auto& body : graph.node(id).bodies) changed |= mark(*body);
    if (graph.node(id).op != &op("MatMul") || !find_attention(graph, id, users)) continue;
    graph.node(id).op = &op("AttentionMatMul", "gart");
    changed = true;
  }
  return changed;
}

}  // namespace

bool mark_attention(Graph& graph, const Target& target) { return target.device == DeviceClass::cuda && mark(graph); }

}  // namespace gcg
