// Which launches of a GPU's plan may start while the launch before them runs (programmatic dependent launch).
#pragma once

#include <vector>

#include "artifact_schema/writer.h"
#include "compiler/schedule/schedule.h"

namespace gcg {

/// A sequence as it is emitted: of each step, which one of the schedule's sequence it does the work of.
struct EmittedSteps {
  std::vector<size_t> origin;
  std::vector<int64_t> ahead_bytes;  // that a block of its kernel reads before it waits
};

/// Sets Step::overlaps of the steps that may and should. They may where the step before them on their stream is a launch, too,
/// everything else they wait for stands before that one on the stream, and what their kernel reads before it waits are
/// constants, which no step of a run writes. They should where that gains more than their waiting blocks take from what
/// runs on other streams meanwhile.
/// Requires: the plan's kernels, buffers and steps are complete. `emitted`: per sequence.
void overlap_launches(gart::fb::PlanT& plan, const Schedule& schedule, const std::vector<EmittedSteps>& emitted);

}  // namespace gcg
