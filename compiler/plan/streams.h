// Streams: steps on different streams may run at the same time, steps on one stream run in order.
#pragma once

#include <vector>

#include "compiler/plan/plan.h"

namespace gcg {

/// The steps of a sequence that are certain to have finished when another step starts: the earlier steps on its stream,
/// the steps it waits for, and, transitively, their predecessors. A barrier (Step::is_barrier) follows everything
/// before it and precedes everything after it.
class StepOrder {
 public:
  explicit StepOrder(const Sequence& sequence);
  bool before(StepId first, StepId second) const { return after_[second][static_cast<size_t>(first.index)]; }

 private:
  IndexedVector<StepId, std::vector<bool>> after_;  // after_[i][j]: i starts after j has finished
};

/// Gives a chain of dependent steps in the entry sequence its own stream if this saves time by the cost model. Running
/// the chain in parallel with the others must save more than a fork and a join cost. All other steps stay on stream 0.
/// Requires: memory is not planned yet.
void assign_streams(Plan& plan);

}  // namespace gcg
