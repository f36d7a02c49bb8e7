// A schedule as text, for --print-schedule and for tests.
#pragma once

#include <string>

#include "compiler/schedule/schedule.h"

namespace gcg {

/// One line per expression node that is worth a name; loads as o0[...], axes as i0, locals as l0.
std::string print_expr(const Expr& e);
std::string print_kernel(const Kernel& kernel);
/// Buffers, kernels, sequences and the memory plan.
std::string print_schedule(const Schedule& schedule);

}  // namespace gcg
