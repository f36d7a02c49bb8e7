// Which step waits for which.
#pragma once

#include "compiler/plan/plan.h"

namespace gcg {

/// Fills Step::waits: every step waits for the guards and bindings before it, the last writers of what it reads and the
/// last users of what it overwrites. Control steps count as readers and writers of everything their bodies touch, so
/// those must be among the plan's sequences already; `sequence` itself need not be.
void link_waits(const Plan& plan, Sequence& sequence);

}  // namespace gcg
