#include "compiler/plan_report.h"

#include "compiler/plan/shape_sets.h"

namespace gcg {
namespace {

std::string shapes_text(const Plan& plan) {
  if (plan.is_load_time_packing) return "load-time packing";
  return plan.fixed.empty() ? "symbolic" : describe(plan.fixed);
}

}  // namespace

PlanReport report_plan(const Plan& plan, const Target& target) {
  const ArenaLayout& arena = plan.memory.layout;
  PlanReport row{
      plan.entry_point, target.name,      shapes_text(plan), 0, static_cast<int64_t>(plan.kernels.size()), {},
      arena.bytes,      arena.lower_bound};
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
