// The targets that the options of a compilation request.
#pragma once

#include <string>
#include <vector>

#include "compiler/ir/graph.h"
#include "compiler/kernel/target.h"
#include "compiler/plan/bind_libraries.h"
#include "compiler/report/remark.h"

namespace gcg {

/// The first target of each device class: all targets of a class share passes and kernels.
std::vector<Target> one_per_device(const std::vector<Target>& targets);

/// The targets with these names. A 16-bit model computes in its own type, unless the options request another precision
/// than fp32. `decisions`: for all of these targets; may be null.
std::vector<Target> targets_of(const std::vector<std::string>& names, Precision precision, const Decisions* decisions,
                               const Graph& graph);

/// Requested options that have no effect on any plan.
std::vector<Remark> idle_options(const LibraryOptions& libraries, Precision precision,
                                 const std::vector<Target>& targets);

}  // namespace gcg
