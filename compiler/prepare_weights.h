// Weights once in the file, whatever the number of devices.
#pragma once

#include <vector>

#include "compiler/emit_artifact.h"

namespace gcg {

/// Finds the constants of GPU plans whose elements the CPU plans hold in another order (packed for their kernels), and adds
/// to `plans` one that makes them from those at load. Without CPU plans there is nothing to share: a GPU's constants are
/// then stored in its own order.
PreparedWeights prepare_weights(std::vector<ShapePlan>& plans);

}  // namespace gcg
