// What rules of cutting see: nodes by number, and which must run before which.
#pragma once

#include <utility>
#include <vector>

namespace gcg {

/// Without a circle; numbers are an order: a node is greater than what it comes after.
struct Dag {
  std::vector<std::vector<int>> before, after;  // of each node, ascending, each once

  int size() const { return static_cast<int>(before.size()); }
};

/// Of n nodes. Edges may be given more than once; from < to.
Dag make_dag(int n, std::vector<std::pair<int, int>> edges);

/// Nodes by group. A group's nodes ascend.
using Groups = std::vector<std::vector<int>>;

/// The group of each node.
std::vector<int> group_of(const Dag& dag, const Groups& groups);

/// Some groups, each before the next and the last before the first; empty: there is no circle.
std::vector<int> find_circle(const Dag& dag, const Groups& groups);

/// The groups in an order of the contracted graph, first what is first in the graph. Groups in circles are divided,
/// into as few pieces as a walk finds that takes whole groups where it can.
Groups ordered(const Dag& dag, const Groups& groups);

/// The graph of the groups: node g is groups[g]. Requires: they are in order.
Dag contracted(const Dag& dag, const Groups& groups);

}  // namespace gcg
