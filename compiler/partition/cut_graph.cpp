#include "compiler/partition/cut.h"
#include "compiler/partition/runs_on.h"
#include "compiler/support/error.h"

namespace gcg {

Cut cut_graph(const Graph& graph, const Fleet& fleet, const CutOptions&) {
  Cut cut;
  for (NodeId id : graph.order()) {
    std::vector<int> support = support_of(fleet, graph, graph.node(id));
    if (cut.groups.empty() || cut.groups.back().support != support)
      cut.groups.push_back({concat("g", cut.groups.size()), {}, std::move(support)});
    cut.groups.back().nodes.push_back(id);
  }
  return cut;
}

}  // namespace gcg
