// The report of `compile` on the groups of a fleet.
#pragma once

#include "gcc_graph/compile.h"

namespace gcg::tools {

/// Prints one line per group, then the cost of the cut: fusions lost, launches, and the time compared with the whole
/// model on one device.
void print_cut_report(const gcc_graph::CutReport& report);

}  // namespace gcg::tools
