// What `compile` says of the groups that a fleet gets.
#pragma once

#include "gcc_graph/compile.h"

namespace gcg::tools {

/// A line per group, then what the cut costs: fusions, launches, time beside the whole model's on one device.
void print_cut_report(const gcc_graph::CutReport& report);

}  // namespace gcg::tools
