// The targets that the options of a compilation ask for.
#pragma once

#include <vector>

#include "compiler/compile.h"

namespace gcg {

/// The first target of each device class: all targets of a class share passes and kernels.
std::vector<Target> one_per_device(const std::vector<Target>& targets);

/// The requested targets, with the options and the precision that hold for all of them.
std::vector<Target> targets_of(const CompileOptions& options, const Graph& graph);

/// Requested options that have no effect on any plan.
std::vector<Remark> idle_options(const CompileOptions& options, const std::vector<Target>& targets);

}  // namespace gcg
