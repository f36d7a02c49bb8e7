// Fusion: decides which values get storage, and which nodes share a kernel.
#pragma once

#include "compiler/kernel/target.h"
#include "compiler/lowering/fusion.h"

namespace gcg {

/// Requires: types inferred, device passes done, no dead nodes. Ensures: every graph output has storage, no cycle among
/// groups; outputs that are inputs, constants or each other get a copying group.
Fusion fuse(const Graph& graph, DeviceClass device = DeviceClass::cpu);

}  // namespace gcg
