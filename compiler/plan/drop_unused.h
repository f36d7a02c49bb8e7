// What no step uses is no part of a plan.
#pragma once

#include "compiler/plan/plan.h"

namespace gcg {

/// Removes temporaries, constants and kernels that no step names, and numbers the others anew, in their order. Inputs
/// and outputs stay. Requires: no memory is planned, no code selected.
void drop_unused(Plan& plan);

}  // namespace gcg
