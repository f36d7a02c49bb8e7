// Weights once in the file, whatever the number of devices.
#pragma once

#include <set>
#include <vector>

#include "compiler/plan/plan.h"
#include "compiler/weights/weights_section.h"

namespace gcg {

/// Finds the constants of GPU plans that the file need not hold, because it holds them in another order or type: what
/// CPU plans read packed for their kernels, or what another GPU kernel reads as it was. They become packed buffers,
/// and each GPU gets a plan that makes them from those at load, after the others. Small ones are stored in every form.
/// Requires: `plans` are for their targets. Returns the constants that are read at load.
std::set<const Tensor*> plan_load_time_packing(std::vector<Plan>& plans);

/// All constants of the plans: what runs on GPUs read comes first, then what is read at load (`sources`), so that an
/// upload for either takes that and little else.
WeightsSection place_weights(const std::vector<Plan>& plans, const std::set<const Tensor*>& sources);

}  // namespace gcg
