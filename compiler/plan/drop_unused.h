// Removes everything from a plan that no step uses.
#pragma once

#include "compiler/plan/plan.h"

namespace gcg {

/// Removes temporaries, constants and kernels that no step names, and renumbers the others in their order. Inputs and
/// outputs stay.
/// Requires: memory is not planned, code is not selected.
void drop_unused(Plan& plan);

}  // namespace gcg
