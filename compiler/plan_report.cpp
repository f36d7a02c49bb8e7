#include "compiler/plan_report.h"

#include "compiler/bind_libraries.h"
#include "compiler/emit_artifact.h"
#include "compiler/shape_sets.h"

namespace gcg {
namespace {

std::string shapes_text(const ShapePlan& plan) {
  if (plan.at_load) return "at load";
  return plan.fixed.empty() ? "symbolic" : describe(plan.fixed);
}

}  // namespace

PlanReport report_plan(const ShapePlan& plan, const Target& target, const PlanSize& size) {
  const ArenaLayout& arena = plan.schedule.memory.layout;
  PlanReport row{target.name, shapes_text(plan), size.steps, size.kernels, {}, arena.bytes, arena.lower_bound};
  for (const Sequence& s : plan.schedule.sequences)
    for (const Step& step : s.steps)
      if (const LibraryCall* call = call_of(plan, target, step)) ++row.calls[call->library];
  return row;
}

}  // namespace gcg
