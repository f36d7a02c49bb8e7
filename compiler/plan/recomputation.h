// Facts about a plan that computes values again to save memory.
#pragma once

#include <cstdint>
#include <string>

namespace gcg {

/// The effect of fit_memory. Times are predicted: for one core of a CPU, or for a GPU.
struct Recomputation {
  std::string entry;                          // the entry point
  int64_t bytes_before = 0, bytes_after = 0;  // size of the arena
  int64_t steps = 0, repeated = 0;            // number of steps without repetitions, and number of repeated runs
  double microseconds = 0, added = 0;         // time of the steps without repetitions, and time of the repeated runs
};

}  // namespace gcg
