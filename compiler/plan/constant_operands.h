// Marks the constant operands of kernels. Kernels need not wait for other steps before they read these.
#pragma once

#include "compiler/plan/plan.h"

namespace gcg {

/// Fills Operand::constant for the kernels of a GPU plan. Launches of a kernel whose constants differ get a kernel
/// each.
void mark_constant_operands(Plan& plan);

}  // namespace gcg
