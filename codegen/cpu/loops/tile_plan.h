// Stores whose loads run along another axis than the stores: by square tiles that are transposed in registers.
#pragma once

#include <vector>

#include "codegen/cpu/loops/loop_plan.h"

namespace gcg::cpu {

/// Lanes of a row that is one row of a tile, as a block of channels is: whole tiles of such rows beat a row's interior,
/// and wider vectors along other axes. 0: it is not. `native`: lanes of a register.
int row_of_tile(const Stage& stage, const Axis& lane, std::vector<Axis> axes, const std::vector<Operand>& operands,
                int native);

/// Reads loads that are strided along the vector axis by tiles where they run along one of the `axes`.
void plan_tiles(const CpuTarget& target, StagePlan& plan, std::vector<Axis>& axes,
                const std::vector<Operand>& operands);

}  // namespace gcg::cpu
