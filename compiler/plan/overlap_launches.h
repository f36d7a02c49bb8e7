// Which launches of a GPU's plan may start while the launch before them runs (programmatic dependent launch).
#pragma once

#include "compiler/plan/plan.h"

namespace gcg {

/// Sets Launch::overlaps of the steps that may and should. They may where the step before them on their stream is a
/// launch, too, everything else they wait for stands before that one on the stream, and what their kernel reads before
/// it waits are constants, which no step of a run writes. They should where that gains more than their waiting blocks
/// take from what runs on other streams meanwhile. Requires: code is selected, streams are assigned. Ensures: the order
/// of the steps is final.
void overlap_launches(Plan& plan);

}  // namespace gcg
