// Computes values again instead of keeping them, so that a plan's arena stays below a limit.
#pragma once

#include <cstdint>
#include <optional>

#include "compiler/plan/plan.h"
#include "compiler/plan/recomputation.h"

namespace gcg {

/// If the static arena of the plan needs more than `limit` bytes, repeats launches whose results are read again much
/// later, so that the results need not stay in memory. A repeated launch runs the same kernel on the same operands, so
/// the results have the same bits. Results that free many bytes and take little time to compute again leave memory
/// first (recompute_schedule.h). Returns nullopt and changes nothing if the arena already fits, or if its size is not
/// constant. Throws CompileError, as plan_memory does, if no schedule fits. `graph`: the graph of the plan. `machine`:
/// the plan's device. Requires: no libraries, streams or memory yet.
std::optional<Recomputation> fit_memory(Plan& plan, const Graph& graph, int64_t limit, const Machine& machine);

/// Moves all steps of a GPU's plan to one stream if its static arena exceeds the limit: streams share less memory.
/// Requires: streams are assigned, memory is not planned.
void drop_large_streams(Plan& plan, int64_t limit);

}  // namespace gcg
