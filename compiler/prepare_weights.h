// Weights once in the file, whatever the number of devices.
#pragma once

#include <vector>

#include "compiler/emit_artifact.h"

namespace gcg {

/// Finds the constants of GPU plans that the file holds in another order or type: what CPU plans read packed for their kernels,
/// or what another GPU kernel reads as it was. Adds to `plans` one that makes them from those at load. Small ones are stored in
/// every form.
PreparedWeights prepare_weights(std::vector<ShapePlan>& plans);

}  // namespace gcg
