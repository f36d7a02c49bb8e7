// The nodes of a graph that do work. Only these nodes are cut into groups.
#pragma once

#include <utility>
#include <vector>

#include "compiler/ir/graph.h"
#include "compiler/partition/dag.h"

namespace gcg {

/// Shape arithmetic is left out, because every part computes values that follow from extents itself (assembly.h). Such
/// values add no order between nodes, except after nodes that determine extents that depend on data.
struct WorkNodes {
  std::vector<NodeId> nodes;   // in topological order, with `in_order` as edges
  std::vector<int> number;     // by NodeId: its number; -1: not a work node
  std::vector<NodeId> others;  // shape arithmetic, in topological order
  Dag dag;                     // the graph of `nodes`, by number

  int number_of(NodeId id) const { return id.valid() ? number[static_cast<size_t>(id.index)] : -1; }
};

/// Throws CompileError if `in_order` makes a cycle.
WorkNodes work_nodes(const Graph& graph, const std::vector<std::pair<NodeId, NodeId>>& in_order);

}  // namespace gcg
