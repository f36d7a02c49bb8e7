// Measures devices: rate of f32 operations, and bandwidth of reads or copies.
#pragma once

#include "gcc_graph/fleet.h"

namespace gcg::tools {

/// Sets gflops and gbytes_per_s. All cores of the pool work at once, for about half a second. If a thread cannot be
/// bound to its core, the system chooses the core.
void probe_pool(gcc_graph::FleetDevice& pool);

}  // namespace gcg::tools
