// Finds the steps of a run that must wait for threads to finish earlier steps, by the bytes they touch.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "artifact_schema/buffer_plan.h"
#include "runtime/plan.h"

namespace gart {

/// The threads of a team that work on a step: one per task, at most `most`, from thread `first` on.
struct Share {
  int64_t tasks = 0;
  uint16_t first = 0, most = 1;
};

/// The thread of `step` first waits until `thread` has finished step `on`.
struct Wait {
  uint32_t step, thread, on;
};

struct Barriers {
  std::vector<uint8_t> needed;  // per step of the plan: 1 if all threads wait for each other before it
  std::vector<Wait> waits;      // in the order of their steps
};

/// Computes the order of the steps of each segment. A step needs no order if since the last barrier no step wrote the
/// memory it touches, and no step touched the memory it writes. Steps of the same thread need none either. Two steps of
/// one thread each are ordered by a wait, others by a barrier. Late steps always have a barrier. shares[i]: of step i;
/// extents: of the early buffers.
Barriers needed_barriers(const Plan& plan, std::span<const BufferExtent> extents, std::span<const Share> shares);

}  // namespace gart
