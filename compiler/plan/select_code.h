// Machine code for the kernels of plans.
#pragma once

#include <memory>
#include <vector>

#include "compiler/kernel/backend.h"
#include "compiler/plan/plan.h"

namespace gcg {

/// Compiles each distinct kernel of the target's plans once. They get their kernels' code, and where that is several
/// launches, a step and a kernel for each. `number`: the target's, Plan::target. `threads`: host threads the backend
/// may use. Throws CompileError when no backend is for the target's device.
CompiledBlob select_code(const Target& target, int number, std::vector<Plan>& plans,
                         const std::vector<std::unique_ptr<Backend>>& backends, int threads);

}  // namespace gcg
