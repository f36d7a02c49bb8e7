#include "compiler/report/equal_extents.h"

namespace gcg {
namespace {

void collect(const Graph& graph, EqualExtents& found) {
  for (const DimConstraint& fact : graph.constraints)
    if (fact.reason.ends_with(": broadcasting") && !fact.a.is_constant() && !fact.b.is_constant())
      found.pairs.push_back({fact.reason, fact.a.str(), fact.b.str()});
  for (NodeId id : graph.order())
    for (const auto& body : graph.node(id).bodies) collect(*body, found);
}

}  // namespace

std::optional<EqualExtents> equal_extents(const Graph& graph) {
  EqualExtents found;
  collect(graph, found);
  if (found.pairs.empty()) return std::nullopt;
  return found;
}

}  // namespace gcg
