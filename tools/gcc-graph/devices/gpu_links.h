// Measures how fast a GPU exchanges values with the host and with other GPUs.
#pragma once

#include "tools/gcc-graph/devices/inventory.h"

namespace gart::cuda {
struct Driver;
}

namespace gcg::tools {

/// A copy of `bytes` takes us + bytes / (1000 * gbytes_per_s) microseconds.
struct HostLink {
  int device = 0;     // the GPU's index in the fleet
  FleetLink in, out;  // link to the GPU, and link from it; device indices are not set
};

/// Measures copies between the GPU's memory and pageable memory. In a fleet, values that cross are in pageable memory.
/// Throws gart::Failure.
HostLink measure_host_link(int device, int ordinal, const gart::cuda::Driver& driver);

/// Measures copies from one GPU's memory to the other's, as a fleet makes them. Device indices are not set. Throws
/// gart::Failure.
FleetLink measure_peer_link(int from_ordinal, int to_ordinal, const gart::cuda::Driver& driver);

/// Adds links between each GPU and each CPU pool of this host.
void add_host_links(const std::vector<HostLink>& gpus, Fleet& fleet);

}  // namespace gcg::tools
