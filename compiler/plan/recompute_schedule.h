// Chooses values that are computed again instead of kept, so that the memory of a sequence of steps stays below a
// limit. It knows steps and buffers by number only; recompute.h connects it to plans.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace gcg {

/// The steps of a sequence in their order, and the buffers that need memory. A buffer is written before it is read.
struct RecomputeProblem {
  struct Step {
    double microseconds = 0;
    bool can_repeat = false;         // running the step again later gives the same results
    std::vector<int> reads, writes;  // buffers
    std::vector<int> in_place;       // buffers of `reads` whose memory the only result may take over
  };
  struct Buffer {
    int64_t bytes = 0;
    bool can_leave = false;  // readers may read a copy that a repeated step wrote elsewhere
  };
  std::vector<Step> steps;
  std::vector<Buffer> buffers;
};

/// A sequence in which some steps run again. A run of a step has its own instances of the buffers that it writes.
struct RecomputeSchedule {
  struct Run {
    int step = 0;
    bool again = false;
    std::vector<int> reads, writes;  // instances, parallel to the lists of the step
  };
  std::vector<Run> runs;
  std::vector<int> buffer_of;  // by instance
  int64_t peak = 0;            // the largest sum of bytes that are in use during a run
  double microseconds = 0;     // time of the repeated runs
};

/// The schedule without repetitions.
RecomputeSchedule schedule_once(const RecomputeProblem& problem);

/// A schedule whose peak is at most `limit`; nullopt if the search finds none. A candidate is an interval between two
/// uses of a value. The value leaves memory in this interval, and its step runs again before the next use. If operands
/// of this step have left memory too, their steps also run again first. The search repeatedly takes the candidate that
/// saves the most bytes above the limit per microsecond of repeated steps. Finally it undoes choices that later ones
/// have made unnecessary. The result depends on the problem alone.
std::optional<RecomputeSchedule> schedule_within(const RecomputeProblem& problem, int64_t limit);

}  // namespace gcg
