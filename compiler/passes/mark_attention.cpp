#include "compiler/passes/mark_attention.h"

#include <algorithm>

#include "compiler/ops/attention_pattern.h"
#include "compiler/ops/op_def.h"

namespace gcg {
namespace {

bool all_on_device(const Graph& graph, const std::set<NodeId>& nodes) {
  return std::none_of(nodes.begin(), nodes.end(), [&](NodeId n) { return graph.node(n).on_host; });
}

bool mark(Graph& graph) {
  const auto users = graph.users();
  bool changed = false;
  for (NodeId id : graph.order()) {
    for (const auto& body : graph.node(id).bodies) changed |= mark(*body);
    if (graph.node(id).op != &op("MatMul") || graph.node(id).on_host) continue;
    const auto attention = find_attention(graph, id, users);
    if (!attention || !all_on_device(graph, attention->nodes)) continue;
    graph.node(id).op = &op("AttentionMatMul", "gart");
    changed = true;
  }
  return changed;
}

}  // namespace

bool mark_attention(Graph& graph, const Target& target) { return target.device == DeviceClass::cuda && mark(graph); }

}  // namespace gcg
