// Decides whether the rows of a store are walked in runs (LoopPlan::by_runs).
#pragma once

#include <vector>

#include "codegen/cpu/loops/loop_plan.h"

namespace gcg::cpu {

/// True if the rows are, or may be, so short that the addresses of all axes of `outer` take longer than the elements.
/// Then an axis of many points is put last, along which the runs lie.
bool runs_along(const StagePlan& store, std::vector<Axis>& outer);

}  // namespace gcg::cpu
