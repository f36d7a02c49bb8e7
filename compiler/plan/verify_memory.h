// Does every step find in memory what it reads?
#pragma once

#include "compiler/plan/plan.h"

namespace gcg {

/// Follows the contents of temporaries through the steps, whatever lifetimes the planner saw: a write ends what else
/// lies there, in loops for the next iteration, too. On several streams, steps that touch the same memory, one of them
/// writing, are ordered by streams and waits. Throws InternalError naming the step and the buffer. Requires: memory is
/// planned, all numbers are sound.
void verify_memory(const Plan& plan);

}  // namespace gcg
