// Which operands of kernels are constants: what a kernel reads of them does not depend on other steps.
#pragma once

#include "compiler/schedule/schedule.h"

namespace gcg {

/// Fills Operand::constant of the kernels of a GPU's schedule.
void mark_constant_operands(Schedule& schedule);

}  // namespace gcg
