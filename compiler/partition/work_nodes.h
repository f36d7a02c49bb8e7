// The nodes of a graph that cuts are about: those that do something.
#pragma once

#include <utility>
#include <vector>

#include "compiler/ir/graph.h"
#include "compiler/partition/dag.h"

namespace gcg {

/// Shape arithmetic is left out, since every part computes for itself what follows from extents (assembly.h): it comes
/// after nothing and nothing comes after it, but for those that make the extents, where they depend on data.
struct WorkNodes {
  std::vector<NodeId> nodes;   // in an order of the graph, with `in_order` as edges
  std::vector<int> number;     // by NodeId; -1: none of these
  std::vector<NodeId> others;  // shape arithmetic, in an order
  Dag dag;                     // of `nodes`, by number

  int number_of(NodeId id) const { return id.valid() ? number[static_cast<size_t>(id.index)] : -1; }
};

/// Throws CompileError where `in_order` makes a circle.
WorkNodes work_nodes(const Graph& graph, const std::vector<std::pair<NodeId, NodeId>>& in_order);

}  // namespace gcg
