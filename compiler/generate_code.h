// Kernels of all plans to machine code of one target.
#pragma once

#include <vector>

#include "compiler/compile.h"
#include "compiler/emit_artifact.h"

namespace gcg {

/// Each distinct kernel of the plans for the target's device class is compiled once, and for a CPU what GPUs leave to it. `threads`: host threads the backend may use. Throws CompileError
/// when no backend is for the target's device.
TargetCode generate_code(const Target& target, const std::vector<ShapePlan>& plans, const Backends& backends, int threads);

}  // namespace gcg
