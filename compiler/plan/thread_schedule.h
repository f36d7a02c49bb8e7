// A model of the runtime's threads: on which thread each step of a sequence runs, and the total time.
#pragma once

#include <cstddef>
#include <vector>

namespace gcg {

/// A step, as the thread model sees it.
struct ThreadWork {
  double microseconds = 0;         // time on one thread
  double tasks = 1;                // number of tasks that threads can share
  std::vector<size_t> after = {};  // earlier steps that it waits for
};

/// The thread of a step is kTogether (all threads) or a thread number.
inline constexpr int kTogether = -1;

struct ThreadSchedule {
  std::vector<int> threads;       // per step
  double microseconds = 0;        // total time of all steps
  double microseconds_intra = 0;  // total time if all threads share each step
};

/// The cheapest schedule found for this number of threads, which take the steps in order. A step runs on a single
/// thread only if the model predicts a gain. A step that follows all others and has many tasks always runs on all
/// threads.
ThreadSchedule schedule_threads(const std::vector<ThreadWork>& steps, int threads);

}  // namespace gcg
