// Dependences between steps.
#pragma once

#include "compiler/plan/plan.h"

namespace gcg {

/// Fills Step::waits. Every step waits for the guards and bindings before it, for the last writers of its inputs, and
/// for the last users of the buffers it overwrites. Control steps count as readers and writers of all buffers that
/// their subgraphs use, so those subgraphs must already be among the plan's sequences. `sequence` itself need not be.
void link_waits(const Plan& plan, Sequence& sequence);

}  // namespace gcg
