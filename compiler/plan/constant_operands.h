// Marks constant kernel operands: reading them does not depend on other steps.
#pragma once

#include "compiler/plan/plan.h"

namespace gcg {

/// Fills Operand::constant for the kernels of a GPU plan.
void mark_constant_operands(Plan& plan);

}  // namespace gcg
