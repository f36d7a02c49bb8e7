// A model of the runtime's threads: where each step of a sequence runs, and how long all take.
#pragma once

#include <cstddef>
#include <vector>

namespace gcg {

/// A step, as threads see it.
struct ThreadWork {
  double microseconds = 0;         // on one thread
  double tasks = 1;                // that threads can share
  std::vector<size_t> after = {};  // earlier ones that it waits for
};

/// Thread of a step: kTogether for all of them, or a number.
inline constexpr int kTogether = -1;

struct ThreadSchedule {
  std::vector<int> threads;       // per step
  double microseconds = 0;        // all steps
  double microseconds_intra = 0;  // all steps, each of them by all threads together
};

/// The cheapest schedule found for so many threads, which take the steps in their order. Steps on one thread each are
/// better than all threads on each step only where the model says so: a step that follows all others, and has many
/// tasks, is never.
ThreadSchedule schedule_threads(const std::vector<ThreadWork>& steps, int threads);

}  // namespace gcg
