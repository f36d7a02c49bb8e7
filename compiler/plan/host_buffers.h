// Steps of the CPU in a plan for a GPU: their operands lie in host memory, and copies carry values across.
#pragma once

#include "compiler/plan/plan.h"

namespace gcg {

/// Gives the operands of launches in host memory buffers there. What only such steps use lies there alone; of
/// everything else the host has a twin, copied from the device before a step of the host reads it, and to the device
/// before anything else does, as late as can be. Example: a (GPU) -> %x -> b (CPU) -> %y -> c (GPU)   becomes   a ->
/// %x; %x' = %x; b -> %y'; %y = %y'; c Ensures: waits are right. Before: assign_streams, plan_memory.
void place_host_buffers(Plan& plan);

}  // namespace gcg
