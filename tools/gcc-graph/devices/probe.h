// What devices reach, measured: f32 operations, and bytes read or copied.
#pragma once

#include "gcc_graph/fleet.h"

namespace gcg::tools {

/// Sets gflops and gbytes_per_s: all cores of the pool at once, for about half a second. Cores that cannot be bound to
/// run where the system puts them.
void probe_pool(gcc_graph::FleetDevice& pool);

}  // namespace gcg::tools
