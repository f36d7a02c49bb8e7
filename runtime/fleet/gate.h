// Limits how many requests run at once. Further ones wait until one has ended, so that no queue grows.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>

#include "runtime/origin.h"
#include "runtime/turns.h"

namespace gart::fleet {

class Gate {
 public:
  /// `most`: the number of requests that may run at once. `waits`: whether enter() waits for a place.
  explicit Gate(int most, bool waits = true) : waits_(waits), places_(static_cast<uint32_t>(most)) {}
  /// True if this process loaded the fleet. A child of fork() has no threads that could run requests.
  bool here() const { return origin_.here(); }
  /// Waits until one more request may run, and returns the request's number. Numbers ascend over all fleets of the
  /// process. nullopt if the gate does not wait and no more requests may run.
  std::optional<uint64_t> enter() {
    if (!places_.enter(1, waits_)) return std::nullopt;
    return next_++;
  }
  void leave() { places_.leave(1); }

 private:
  const Origin origin_;
  const bool waits_;
  Turns places_;
  static inline std::atomic<uint64_t> next_{0};
};

}  // namespace gart::fleet
