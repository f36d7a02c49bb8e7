// Which kernels of a plan libraries do.
#pragma once

#include "compiler/compile.h"
#include "compiler/emit_artifact.h"
#include "compiler/kernel/library_call.h"

namespace gcg {

/// Jetsons have no memory to spare for libraries: where a kernel can stand in for a call, they get the kernel alone.
bool is_spared_libraries(const Target& target);

/// Does a plan for `device` have calls, if these targets and options are asked for?
bool binds_libraries(const std::vector<Target>& targets, const Target& device, const CompileOptions& options);

/// The call that does the step on this target; null: none does.
const LibraryCall* call_of(const ShapePlan& plan, const Target& target, const Step& step);

/// Before the memory plan: what a library may do takes over no memory of what it reads.
void keep_operands(Schedule& schedule, const LibraryBinder& binder);

/// Fills plan.calls and plan.other_forms. `targets`: all that the plan is for or others. `stand_ins`: the kernels' own code is stored as well, for
/// machines without the library; otherwise what only they read is no constant of the plan any more, and the result are sentences about
/// libraries that are left without work.
std::vector<std::string> bind_libraries(ShapePlan& plan, const std::vector<Target>& targets, const LibraryBinder& binder,
                                        bool stand_ins);

}  // namespace gcg
