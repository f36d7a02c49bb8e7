// The buffer in which the runs of an invocation record when each step ran.
#pragma once

#include <atomic>
#include <chrono>
#include <span>

#include "gart/gart.hpp"

namespace gart {

struct StepLog {
  std::span<StepTime> places;
  std::atomic<size_t> count{0};  // number of entries of the current run, including entries that did not fit

  static int64_t now() { return std::chrono::steady_clock::now().time_since_epoch() / std::chrono::nanoseconds(1); }
  void note(const StepTime& time) {
    const size_t place = count.fetch_add(1, std::memory_order_relaxed);
    if (place < places.size()) places[place] = time;
  }
};

}  // namespace gart
