// Stores whose loads run along another axis than the stores: by square tiles that are transposed in registers.
#pragma once

#include <vector>

#include "codegen/cpu/loops/loop_plan.h"

namespace gcg::cpu {

/// Is a row one register whose lanes lie far apart where they are read, as a block of channels? Whole tiles of such
/// rows beat a row's interior.
bool is_register_of_tiles(const Stage& stage, const Axis& lane, std::vector<Axis> axes,
                          const std::vector<Operand>& operands, int native);

/// Reads loads that are strided along the vector axis by tiles where they run along one of the `axes`.
void plan_tiles(const CpuTarget& target, StagePlan& plan, std::vector<Axis>& axes,
                const std::vector<Operand>& operands);

}  // namespace gcg::cpu
