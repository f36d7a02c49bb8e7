// Kernels as text, for --print-plan and for tests.
#pragma once

#include <string>

#include "compiler/kernel/kernel.h"

namespace gcg {

/// One line per expression node that gets a name. Loads are o0[...], axes i0, locals l0.
std::string print_expr(const Expr& e);
std::string print_kernel(const Kernel& kernel);

}  // namespace gcg
