// Is a plan sound?
#pragma once

#include "compiler/plan/plan.h"

namespace gcg {

/// Throws InternalError when an index is off, when a step reads what no earlier step wrote or finds something else in
/// its memory (verify_memory.h), when steps race, or a launch overlaps what it must not. Requires: memory is planned.
void verify_plan(const Plan& plan);

}  // namespace gcg
