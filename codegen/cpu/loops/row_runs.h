// Decides whether the rows of a store are walked in runs (LoopPlan::by_runs).
#pragma once

#include <vector>

#include "compiler/kernel/kernel.h"

namespace gcg::cpu {

/// True if the rows are, or may be, so short that the addresses of all axes of `outer` take longer than the elements.
/// Then an axis of many points is put last, along which the runs lie. `interleaves`: the store has elements between
/// those of its vector axis `lane`.
bool runs_along(const Stage& store, const Axis& lane, bool interleaves, std::vector<Axis>& outer);

}  // namespace gcg::cpu
