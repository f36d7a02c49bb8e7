#include "compiler/report/plan_report.h"

#include "compiler/plan/plan.h"

namespace gcg {

PlanReport report_plan(const Plan& plan, const Target& target) {
  const ArenaLayout& arena = plan.memory.layout;
  PlanReport row;
  row.entry_point = plan.entry_point;
  row.target = target.name;
  row.fixed = plan.fixed;
  row.assumes_equal_extents = !plan.assumed.empty();
  row.is_load_time_packing = plan.is_load_time_packing;
  row.kernels = static_cast<int64_t>(plan.kernels.size());
  row.arena_bytes = arena.bytes;
  row.arena_lower_bound = arena.lower_bound;
  for (const Sequence& sequence : plan.sequences)
    for (const Step& step : sequence.steps) {
      ++row.steps;
      const auto* call = step.as<Call>();
      if (call == nullptr) continue;
      row.steps += static_cast<int64_t>(call->fallback.size());
      ++row.calls[call->call.library];
    }
  return row;
}

}  // namespace gcg
