// Measures devices: rate of f32 operations, and bandwidth of reads or copies.
#pragma once

#include "gcc_graph/fleet.h"

namespace gcg::tools {

/// Sets gflops and gbytes_per_s. All cores of the pool work at once, for about half a second. The system places the
/// threads of cores that cannot be bound.
void probe_pool(gcc_graph::FleetDevice& pool);

}  // namespace gcg::tools
