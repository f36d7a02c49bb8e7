// Which operands of kernels are constants: what a kernel reads of them does not depend on other steps.
#pragma once

#include "compiler/plan/plan.h"

namespace gcg {

/// Fills Operand::constant of the kernels of a GPU's plan.
void mark_constant_operands(Plan& plan);

}  // namespace gcg
