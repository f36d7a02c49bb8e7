// What the runtime's lanes do and predictions of their runs count on.
#pragma once

#include <cstdint>

namespace gart {

/// Nanoseconds that a lane's thread looks for more to do before it sleeps: what a hand-over takes many times. Not
/// longer: where lanes share cores, or have a quota, spinning takes the time of whoever would hand something over.
inline constexpr int64_t kLaneSpinNs = 30'000;

}  // namespace gart
