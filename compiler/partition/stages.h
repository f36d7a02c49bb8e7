// Divides groups into pieces of similar work, so that there are pieces to place and a pipeline is balanced.
#pragma once

#include "compiler/partition/dag.h"

namespace gcg {

/// A node's load, for balancing.
struct NodeLoad {
  double work = 0;   // operations
  double bytes = 0;  // bytes of the node's results that others read
};

/// Divides groups with more work than `piece` (by class) into equal pieces. The cuts lie near the ideal points, where
/// the fewest bytes cross. Joins neighbouring groups of one class if together they exceed `piece` only slightly.
/// Requires: the groups are in order.
Groups stages(const Dag& dag, const Groups& groups, const std::vector<int>& classes, const std::vector<NodeLoad>& loads,
              const std::vector<double>& piece);

}  // namespace gcg
