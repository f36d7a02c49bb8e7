// The graph as cut rules see it: numbered nodes and the order between them.
#pragma once

#include <utility>
#include <vector>

namespace gcg {

/// A directed graph without cycles. Numbers are a topological order: a node's number is greater than those of its
/// predecessors.
struct Dag {
  std::vector<std::vector<int>> before, after;  // predecessors and successors of each node, ascending, each once

  int size() const { return static_cast<int>(before.size()); }
};

/// A Dag of n nodes. Edges may be given more than once; from < to.
Dag make_dag(int n, std::vector<std::pair<int, int>> edges);

/// Nodes by group. A group's nodes ascend.
using Groups = std::vector<std::vector<int>>;

/// The group of each node.
std::vector<int> group_of(const Dag& dag, const Groups& groups);

/// A cycle of groups: each group comes before the next one, and the last before the first. Empty if there is none.
std::vector<int> find_circle(const Dag& dag, const Groups& groups);

/// The groups in topological order of the contracted graph; among ready groups, the one that is first in the graph.
/// Groups in cycles are divided, by a walk that takes whole groups where it can.
Groups ordered(const Dag& dag, const Groups& groups);

/// The graph of the groups: node g is groups[g]. Requires: the groups are in order.
Dag contracted(const Dag& dag, const Groups& groups);

}  // namespace gcg
