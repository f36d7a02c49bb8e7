// A GPU's memory, where values lie that GPUs exchange: each fetches what it reads from where that was made, by a copy
// between the two.
#pragma once

#include <memory>
#include <string_view>

#include "runtime/fleet/engine.h"

namespace gart::fleet {

/// Of the device "cuda:1". Null for CPUs. Throws Failure.
std::unique_ptr<Space> open_gpu_space(std::string_view device);

}  // namespace gart::fleet
