// Computes the lower bound of a bound plan's memory.
#pragma once

#include <cstdint>

namespace gart {

class BoundPlan;

/// The most bytes of temporaries, 64-byte aligned, that are live at one step. A temporary lives from the first to the
/// last step that uses it; a use in a body counts at the body's step. Buffers of run-bound size, which are not in the
/// arena, do not count.
int64_t most_live_bytes(const BoundPlan& bound);

}  // namespace gart
