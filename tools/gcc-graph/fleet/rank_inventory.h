// The devices of all ranks of a job, and the links between their hosts.
#pragma once

#include "gart/hosts.hpp"
#include "tools/gcc-graph/devices/inventory.h"

namespace gcg::tools {

/// Rank 0's devices, then those of the other ranks. A device of rank 1 on machine m has the host "m" and a name such as
/// "m/cpu:0-3". If a lower rank is on the same machine, the host is "m.1". `probe`: also measures rates, one rank after
/// the other, and the links between hosts. Throws Error if a rank fails.
Inventory inventory_of_ranks(const gart::fleet::Hosts& hosts, bool probe);

/// The part of the other ranks, until rank 0 leaves the job.
void serve_inventory(const gart::fleet::Hosts& hosts);

}  // namespace gcg::tools
