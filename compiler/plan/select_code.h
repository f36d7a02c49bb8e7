// Machine code for the kernels of plans.
#pragma once

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

}  // namespace gcg
