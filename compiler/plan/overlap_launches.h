// Selects the launches of a GPU plan that may start while the previous launch runs (programmatic dependent launch).
#pragma once

#include "compiler/plan/plan.h"

namespace gcg {

/// Sets Launch::overlaps for steps where this is both safe and profitable. It is safe if the previous step on the
/// stream is a launch, and all other waits are for earlier steps on that stream. Before its own wait, the kernel reads
/// only constants, which no step of a run writes. It is profitable if the gain exceeds the time that waiting blocks
/// take from work on other streams. Requires: code is selected, streams are assigned. Ensures: the order of the steps
/// is final.
void overlap_launches(Plan& plan);

}  // namespace gcg
