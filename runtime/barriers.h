// Which steps of a run must wait for threads to finish earlier ones, by the bytes they touch.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "artifact_schema/buffer_plan.h"
#include "runtime/plan.h"

namespace gart {

/// Which threads of a team work on a step: as many as it has tasks, at most `most`, from thread `first` on.
struct Share {
  int64_t tasks = 0;
  uint16_t first = 0, most = 1;
};

/// Before `step` its thread waits until `thread` is done with step `on`.
struct Wait {
  uint32_t step, thread, on;
};

struct Barriers {
  std::vector<uint8_t> needed;  // per step of the plan: 1 if all threads wait for each other before it
  std::vector<Wait> waits;      // in the order of their steps
};

/// What orders the steps of each segment. A step that touches only memory that nobody wrote
/// since the last barrier, and writes only memory that nobody touched since, needs nothing; nor do steps of one thread
/// among themselves. Between steps of one thread each there is a wait, otherwise a barrier. Late steps always have one.
/// shares[i]: of step i; extents: of the early buffers.
Barriers needed_barriers(const Plan& plan, std::span<const BufferExtent> extents, std::span<const Share> shares);

}  // namespace gart
