// The scale of the loss in a model that was compiled with precision=f16.
#pragma once

#include <cstdint>
#include <optional>

#include "gart/gart.hpp"

namespace gcg::tools {

struct LossScaling {
  double scale = 0;
  int64_t skipped = 0;  // steps in which gradients were not finite, since the file was compiled
};

/// Reads the program's states; nullopt if it has none for a scale. Throws Error if a state cannot be read.
std::optional<LossScaling> loss_scaling(const gart::Program& program);

}  // namespace gcg::tools
