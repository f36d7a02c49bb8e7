// The nodes of a graph that cuts are about: those that do something.
#pragma once

#include <map>
#include <utility>
#include <vector>

#include "compiler/ir/graph.h"
#include "compiler/partition/dag.h"

namespace gcg {

/// Shape arithmetic is left out, since every part computes for itself what follows from extents (assembly.h): it comes
/// after nothing and nothing comes after it, but for those that make the extents, where they depend on data.
struct WorkNodes {
  std::vector<NodeId> nodes;  // in an order of the graph, with `in_order` as edges
  std::map<NodeId, int> number;
  std::vector<NodeId> others;  // shape arithmetic, in an order
  Dag dag;                     // of `nodes`, by number
};

/// Throws CompileError where `in_order` makes a circle.
WorkNodes work_nodes(const Graph& graph, const std::vector<std::pair<NodeId, NodeId>>& in_order);

}  // namespace gcg
