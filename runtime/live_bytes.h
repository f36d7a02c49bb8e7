// How little memory a bound plan could do with.
#pragma once

#include <cstdint>

namespace gart {

class BoundPlan;

/// The most bytes of temporaries, 64-byte aligned, that are live at one step: from the first that uses one to the last,
/// those of bodies where their step stands. Buffers of late sizes, which are not in the arena, do not count.
int64_t most_live_bytes(const BoundPlan& bound);

}  // namespace gart
