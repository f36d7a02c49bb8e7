// Reductions of short rows by long chains of dependent instructions, such as ReduceLogSumExp. Several rows go through
// each stage together, so that their chains overlap, and the last stage stores one element per row in vectors.
#pragma once

#include <vector>

#include "codegen/cpu/loops/loop_plan.h"

namespace gcg::cpu {

/// Longer rows go alone: the values of several would leave L1.
inline constexpr int64_t kLongestTogether = 64;

/// Sets `plan.rows_together` if it pays.
void plan_rows_together(const CpuTarget& target, const std::vector<Operand>& operands, LoopPlan& plan);

}  // namespace gcg::cpu
