// A GPU's memory for values that GPUs exchange. Each GPU copies the values that it reads from the GPU that made them.
#pragma once

#include <memory>
#include <string_view>

#include "runtime/fleet/engine.h"

namespace gart::fleet {

/// The space of a device such as "cuda:1"; null for CPUs. Throws Failure.
std::unique_ptr<Space> open_gpu_space(std::string_view device);

}  // namespace gart::fleet
