// Is a plan sound?
#pragma once

#include "compiler/plan/plan.h"

namespace gcg {

/// Throws InternalError when a step reads what no earlier step wrote, when live buffers overlap, or an index is off.
void verify_plan(const Plan& plan);

}  // namespace gcg
