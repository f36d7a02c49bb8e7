#include "compiler/partition/cut_cost.h"

#include <map>
#include <set>

#include "compiler/ops/op_def.h"
#include "compiler/partition/node_work.h"

namespace gcg {
namespace {

bool fuses(const Node& node) {
  return node.op->kind == OpKind::pointwise || node.op->kind == OpKind::movement || node.op->kind == OpKind::view;
}

}  // namespace

std::vector<GroupCost> cost_of_cut(const Assembly& assembly) {
  const Graph& graph = assembly.graph;
  std::vector<GroupCost> costs(assembly.cut.groups.size());
  std::map<ValueId, int> maker;  // groups
  std::map<NodeId, int> group;
  for (size_t g = 0; g < assembly.cut.groups.size(); ++g)
    for (NodeId id : assembly.cut.groups[g].nodes) group[id] = static_cast<int>(g);
  std::set<ValueId> gone_out;
  std::set<std::pair<ValueId, int>> come_in;
  for (const PartCall& call : assembly.calls) {
    GroupCost& cost = costs[static_cast<size_t>(call.group)];
    ++cost.calls;
    for (ValueId v : call.outputs) maker[v] = call.group;
    for (ValueId v : call.inputs) {
      const auto from = maker.find(v);
      if (from == maker.end() || from->second == call.group || !come_in.emplace(v, call.group).second) continue;
      cost.bytes_in += bytes_of(graph.value(v));
      if (gone_out.insert(v).second) costs[static_cast<size_t>(from->second)].bytes_out += bytes_of(graph.value(v));
    }
  }
  const std::vector<std::vector<NodeId>> users = graph.users();
  for (const auto& [v, g] : come_in)
    for (NodeId reader : users[static_cast<size_t>(v.index)])
      if (const auto at = group.find(reader); at != group.end() && at->second == g)
        if (fuses(graph.node(reader)) || fuses(graph.node(graph.value(v).producer))) {
          ++costs[static_cast<size_t>(g)].fusions_lost;
          break;
        }
  return costs;
}

}  // namespace gcg
