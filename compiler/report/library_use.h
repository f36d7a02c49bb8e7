// Libraries asked for by name that are left without work, and why.
#pragma once

#include <variant>
#include <vector>

#include "compiler/kernel/library_call.h"
#include "compiler/plan/bind_libraries.h"
#include "compiler/plan/plan.h"
#include "compiler/report/remark.h"

namespace gcg {

/// `plan`: before calls were bound; `outcomes`: of its kernels.
std::vector<std::variant<IdleLibrary, LibraryLeftOut>> unused_libraries(
    const Plan& plan, const LibraryBinder& binder, const IndexedVector<KernelId, CallOutcome>& outcomes);

}  // namespace gcg
