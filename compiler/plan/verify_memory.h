// Verifies that every step finds its inputs in memory.
#pragma once

#include "compiler/plan/plan.h"

namespace gcg {

/// Tracks the contents of temporaries through the steps, independently of the planner's lifetimes. A write invalidates
/// all other contents of that memory, also for the next iteration of a loop. If several streams touch the same memory
/// and one step writes it, streams and waits must order the steps. Throws InternalError naming the step and the buffer.
/// Requires: memory is planned, all indices are valid.
void verify_memory(const Plan& plan);

}  // namespace gcg
