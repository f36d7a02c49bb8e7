// Streams: steps on different streams may run at the same time, steps on one stream run in order.
#pragma once

#include <vector>

#include "compiler/schedule/schedule.h"

namespace gcg {

/// Which steps of a sequence surely have finished when another one starts: those before it on its stream, those it
/// waits for, and what these stand behind in turn. A step that steers the run (branch, loop, fail) or is the CPU's
/// stands behind everything before it and in front of everything after it.
class StepOrder {
 public:
  explicit StepOrder(const Sequence& sequence);
  /// Positions in the sequence.
  bool before(size_t first, size_t second) const { return after_[second][first]; }

 private:
  std::vector<std::vector<bool>> after_;  // after_[i][j]: i stands behind j
};

/// Gives chains of dependent steps in the entry sequence a stream of their own where the cost model says that running
/// them beside the others saves more than a fork and a join cost; everything else stays on stream 0. Requires: memory
/// is not planned yet.
void assign_streams(Schedule& schedule);

}  // namespace gcg
