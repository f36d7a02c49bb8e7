// Pieces with about the same work, so that placing has something to place and a pipeline is balanced.
#pragma once

#include "compiler/partition/dag.h"

namespace gcg {

/// What a node is to a balance.
struct NodeLoad {
  double work = 0;   // operations
  double bytes = 0;  // of what it makes for others
};

/// Divides groups with more than `piece` work into as many equal pieces, at places near the ideal ones where the fewest
/// bytes cross, and joins neighbours in the order that are of one class and together hardly more than `piece` (by
/// class). Requires: the groups are in order.
Groups stages(const Dag& dag, const Groups& groups, const std::vector<int>& classes, const std::vector<NodeLoad>& loads,
              const std::vector<double>& piece);

}  // namespace gcg
