// How fast a GPU exchanges values with the host and with other GPUs, measured.
#pragma once

#include "tools/gcc-graph/devices/inventory.h"

namespace gart::cuda {
struct Driver;
}

namespace gcg::tools {

/// A copy of `bytes` takes us + bytes / (1000 * gbytes_per_s) microseconds.
struct HostLink {
  int device = 0;     // of the fleet: the GPU
  FleetLink in, out;  // to it and from it; numbers of devices are not set
};

/// Copies between pageable memory, where values of a fleet cross, and the GPU's. Throws gart::Failure.
HostLink measure_host_link(int device, int ordinal, const gart::cuda::Driver& driver);

/// Copies from one GPU's memory to the other's, as values of a fleet cross. Numbers of devices are not set. Throws
/// gart::Failure.
FleetLink measure_peer_link(int from_ordinal, int to_ordinal, const gart::cuda::Driver& driver);

/// Links between each GPU and each CPU pool of this host.
void add_host_links(const std::vector<HostLink>& gpus, Fleet& fleet);

}  // namespace gcg::tools
