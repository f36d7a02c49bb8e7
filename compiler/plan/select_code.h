// Machine code for the kernels of plans.
#pragma once

#include <iosfwd>
#include <memory>
#include <vector>

#include "compiler/kernel/backend.h"
#include "compiler/plan/plan.h"

namespace gcg {

/// Compiles each distinct kernel of the target's plans once, and stores the code in the plans. If a kernel needs
/// several launches, adds a step and a kernel for each. `number`: the index of the target, as in Plan::target.
/// `threads`: host threads that the backend may use. Throws CompileError if no backend supports the target's device.
CompiledBlob select_code(const Target& target, int number, std::vector<Plan>& plans,
                         const std::vector<std::unique_ptr<Backend>>& backends, int threads);

/// Prints the source of each distinct kernel of the target's plans (Backend::source), one after a line
/// "source TARGET kN 'NAME'".
void print_sources(const Target& target, int number, const std::vector<Plan>& plans,
                   const std::vector<std::unique_ptr<Backend>>& backends, std::ostream& out);

}  // namespace gcg
