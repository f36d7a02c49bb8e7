// Finds libraries that the user requested by name but that do nothing, and the reason.
#pragma once

#include <variant>
#include <vector>

#include "compiler/kernel/library_call.h"
#include "compiler/plan/bind_libraries.h"
#include "compiler/plan/plan.h"
#include "compiler/report/remark.h"

namespace gcg {

/// `plan`: the plan before calls were bound. `outcomes`: one for each of its kernels.
std::vector<std::variant<UnusedLibrary, SkippedLibrary>> unused_libraries(
    const Plan& plan, const LibraryBinder& binder, const IndexedVector<KernelId, CallOutcome>& outcomes);

}  // namespace gcg
