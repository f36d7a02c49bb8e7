// Which steps of a run must wait for all threads to finish earlier ones, by the bytes they touch.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "artifact_schema/buffer_plan.h"
#include "runtime/plan.h"

namespace gart {

/// Per step of the plan: 1 if a barrier is needed between it and the steps before it in its segment, which `device`
/// works on. A step that touches only memory that nobody wrote since the last barrier, and writes only memory that
/// nobody touched since, needs none; nor do single-task steps among themselves, since they all run on thread 0. Late
/// steps always have one. tasks[i]: of step i; extents: of the early buffers.
std::vector<uint8_t> needed_barriers(const Plan& plan, std::span<const BufferExtent> extents,
                                     std::span<const int64_t> tasks, uint32_t device = 0);

}  // namespace gart
