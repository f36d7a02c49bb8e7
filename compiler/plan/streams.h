// Streams: steps on different streams may run at the same time, steps on one stream run in order.
#pragma once

#include <vector>

#include "compiler/plan/plan.h"

namespace gcg {

/// Which steps of a sequence surely have finished when another one starts: those before it on its stream, those it
/// waits for, and what these stand after in turn. A barrier (Step::is_barrier) stands after everything before it and
/// before everything after it.
class StepOrder {
 public:
  explicit StepOrder(const Sequence& sequence);
  bool before(StepId first, StepId second) const { return after_[second][static_cast<size_t>(first.index)]; }

 private:
  IndexedVector<StepId, std::vector<bool>> after_;  // after_[i][j]: i stands after j
};

/// Gives chains of dependent steps in the entry sequence a stream of their own where the cost model says that running
/// them beside the others saves more than a fork and a join cost; everything else stays on stream 0. Requires: memory
/// is not planned yet.
void assign_streams(Plan& plan);

}  // namespace gcg
