// Properties of the runtime's lanes. Predictions of run times rely on them.
#pragma once

#include <cstdint>

namespace gart {

/// Nanoseconds that a lane's thread spins for more work before it sleeps: many times the cost of a hand-over. A longer
/// time would do harm: where lanes share cores or have a quota, spinning takes time from the thread that would hand
/// over work.
inline constexpr int64_t kLaneSpinNs = 30'000;

}  // namespace gart
