// The cost of a cut, for reports.
#pragma once

#include <vector>

#include "compiler/partition/assembly.h"

namespace gcg {

struct GroupCost {
  double bytes_in = 0, bytes_out = 0;  // bytes from and to other groups; symbolic extents have typical values
  int calls = 0;
  /// Values that cross groups although their reader or producer is pointwise, so that one kernel could have computed
  /// both nodes.
  int fusions_lost = 0;
};

/// Costs by group. A value that several groups read counts as one output, and as an input of each reader. Inputs and
/// outputs of the model do not count.
std::vector<GroupCost> cost_of_cut(const Assembly& assembly);

}  // namespace gcg
