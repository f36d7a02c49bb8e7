// Estimates a loop kernel's work, so that fusion can weigh saved work against repeated work in one unit.
#pragma once

#include "compiler/kernel/kernel.h"
#include "compiler/kernel/target.h"

namespace gcg {

/// Work of every stage at all of its points, including reductions within its expressions. The unit is one addition in a
/// vector loop. The cost of a memory access depends on its pattern: almost nothing if all lanes read one element, high
/// if the lanes are not contiguous in memory. Symbolic extents count as kTypicalExtent.
double loop_work(const Kernel& kernel, const LoopKernel& loops);

}  // namespace gcg
