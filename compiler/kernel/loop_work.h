// How much a loop kernel computes: what fusion saves and what it repeats, in one unit.
#pragma once

#include "compiler/kernel/kernel.h"
#include "compiler/kernel/target.h"

namespace gcg {

/// Operations on elements, in units of one addition in a vector loop: what every stage does at every one of its points,
/// reductions within its expressions included. Memory counts as what its place costs: next to nothing where all lanes
/// read one element, much where neither the lanes' axis nor data runs along it. Symbolic extents count as
/// kTypicalExtent.
double loop_work(const Kernel& kernel, const LoopKernel& loops);

}  // namespace gcg
