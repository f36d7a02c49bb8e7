// What a cut costs, for reports.
#pragma once

#include <vector>

#include "compiler/partition/assembly.h"

namespace gcg {

struct GroupCost {
  double bytes_in = 0, bytes_out = 0;  // that cross, from and to other groups, where open extents are typical ones
  int calls = 0;
  /// Values that cross where the reader works element by element or the maker does: one kernel would have done both.
  int fusions_lost = 0;
};

/// By group. A value that several groups read goes out once, and comes into each. What the caller gives and gets
/// does not count.
std::vector<GroupCost> cost_of_cut(const Assembly& assembly);

}  // namespace gcg
