// What devices reach, measured: f32 operations, and bytes read or copied.
#pragma once

#include "compiler/fleet/fleet.h"

namespace gcg::tools {

/// Sets gflops and gbytes_per_s: all cores of the pool at once, for about half a second. Cores that cannot be bound to
/// run where the system puts them.
void probe_pool(FleetDevice& pool);

}  // namespace gcg::tools
