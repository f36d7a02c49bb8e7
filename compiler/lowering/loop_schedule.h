// Schedules one expression per element as loops.
#pragma once

#include <vector>

#include "compiler/kernel/flat_loops.h"
#include "compiler/kernel/kernel.h"

namespace gcg {

/// Turns "element `index` of operand `result` is `value`" over `domain` into stages.
LoopKernel schedule_loops(const std::vector<Axis>& domain, const Expr& value, int result,
                          const std::vector<Expr>& index, FlatIndices flat, int& next_axis);

}  // namespace gcg
