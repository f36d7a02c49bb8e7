#include "codegen/cpu/loops/rows_together.h"

#include <algorithm>

#include "codegen/cpu/loops/lane_cost.h"
#include "codegen/cpu/loops/point_work.h"

namespace gcg::cpu {

void plan_rows_together(const CpuTarget& target, const std::vector<Operand>& operands, LoopPlan& plan) {
  const auto is_short_reduction = [](const StagePlan& s) {
    const bool is_long = s.lane.extent.is_constant() && s.lane.extent.constant() > kLongestTogether;
    return s.stage.kind == Stage::Kind::reduce && size_of(s.stage.value->dtype) >= 4 && s.lane.id >= 0 && !is_long;
  };
  StagePlan& last = plan.stages.back();
  const bool reduces = plan.stages.size() > 1 &&
                       std::all_of(plan.stages.begin(), plan.stages.end() - 1, is_short_reduction) &&
                       last.stage.kind == Stage::Kind::store && last.lane.id < 0 && last.loops.empty();
  const bool has_long_chain = std::any_of(plan.stages.begin(), plan.stages.end(),
                                          [](const StagePlan& s) { return is_long_chain(s.stage.value); });
  if (!reduces || !has_long_chain || plan.outer.empty() || plan.columns.id >= 0 || plan.kept_row) return;
  plan.rows_together = 16;
  last.maskable = is_maskable(target, last.stage, operands);
}

}  // namespace gcg::cpu
