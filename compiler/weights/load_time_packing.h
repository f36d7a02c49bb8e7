// Weight relayout at load: the file holds weights once, for any number of devices.
#pragma once

#include <set>
#include <vector>

#include "compiler/plan/plan.h"
#include "compiler/weights/weights_section.h"

namespace gcg {

/// Finds the constants of GPU plans that the file need not hold, because it holds a source: the same elements in
/// another order or type. A source is a packed constant of a CPU plan, or an original constant that another GPU kernel
/// reads. The constants found become packed buffers. Adds, after the other plans, one plan for each GPU that makes
/// these buffers from their sources at load. Small constants are stored in every layout and type. Requires: `plans` are
/// for their targets. Returns the constants that are read at load.
std::set<const Tensor*> plan_load_time_packing(std::vector<Plan>& plans);

/// Places all constants of the plans. Constants that runs on GPUs read come first, then those that are read at load
/// (`sources`), so that an upload of either transfers little else.
WeightsSection place_weights(const std::vector<Plan>& plans, const std::set<const Tensor*>& sources);

}  // namespace gcg
