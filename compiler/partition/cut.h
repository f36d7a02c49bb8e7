// A cut divides a graph's nodes into groups: what one device gets.
#pragma once

#include <string>
#include <vector>

#include "compiler/fleet/fleet.h"
#include "compiler/ir/graph.h"

namespace gcg {

struct Group {
  std::string name;
  std::vector<NodeId> nodes;  // in an order of the graph
  std::vector<int> support;   // devices of the fleet that can run all of them, ascending; never empty
};

/// Every live node is in one group; the graph contracted to its groups has no circle, and they stand in an order of it.
struct Cut {
  std::vector<Group> groups;
  std::string rules;  // that made them, for reports: "labels,support"
};

struct CutOptions {};

/// Throws CompileError for a node that no device of the fleet runs, with what each device says.
Cut cut_graph(const Graph& graph, const Fleet& fleet, const CutOptions& options = {});

}  // namespace gcg
