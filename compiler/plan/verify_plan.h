// Verifies a plan.
#pragma once

#include "compiler/plan/plan.h"

namespace gcg {

/// Throws InternalError if an index is out of range, a step reads a buffer that no earlier step wrote, or memory holds
/// other contents (verify_memory.h). Throws it also if steps race, or if a launch overlaps one that it must not
/// overlap. Requires: memory is planned.
void verify_plan(const Plan& plan);

}  // namespace gcg
