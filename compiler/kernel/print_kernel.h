// Kernels as text, for --print-plan and for tests.
#pragma once

#include <string>

#include "compiler/kernel/kernel.h"

namespace gcg {

/// One line per expression node that is worth a name; loads as o0[...], axes as i0, locals as l0.
std::string print_expr(const Expr& e);
std::string print_kernel(const Kernel& kernel);

}  // namespace gcg
