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
    bool can_repeat = false;         // running it again, later, gives the same results
    std::vector<int> reads, writes;  // buffers
    std::vector<int> in_place;       // buffers of `reads` whose memory the only result may take over
  };
  struct Buffer {
    int64_t bytes = 0;
    bool can_leave = false;  // its readers can read a second copy
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
  double microseconds = 0;     // of runs that repeat a step
};

/// The steps as they are.
RecomputeSchedule schedule_once(const RecomputeProblem& problem);

/// A schedule whose peak is at most `limit`; nullopt if none is found. Values that are read again much later are the
/// candidates: each leaves memory after a read, and its step runs again before the next one, after those that its
/// operands need. The search takes the candidate with the most bytes over the limit saved for its microseconds, again
/// and again; then it keeps each value whose repetition has become unnecessary. The result depends on the problem
/// alone.
std::optional<RecomputeSchedule> schedule_within(const RecomputeProblem& problem, int64_t limit);

}  // namespace gcg
