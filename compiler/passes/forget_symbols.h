// Removes symbols that a rewrite has made obsolete.
#pragma once

#include <algorithm>
#include <set>
#include <string>

#include "compiler/ir/graph.h"

namespace gcg {

/// Removes the constraints on extents that use these symbols, subgraphs included. Later nodes may reuse the symbols
/// with another meaning.
inline void forget_symbols(Graph& graph, const std::set<std::string>& symbols) {
  const auto names_one = [&](const Dim& d) {
    const std::set<std::string> named = d.symbols();
    return std::any_of(named.begin(), named.end(), [&](const std::string& s) { return symbols.count(s) != 0; });
  };
  std::erase_if(graph.constraints, [&](const DimConstraint& fact) { return names_one(fact.a) || names_one(fact.b); });
  for (NodeId id : graph.order())
    for (const auto& body : graph.node(id).bodies) forget_symbols(*body, symbols);
}

}  // namespace gcg
