// The devices of this machine: pools of CPU cores, one per L3 cache, and GPUs.
#pragma once

#include <string>
#include <vector>

#include "gcc_graph/fleet.h"

namespace gcg::tools {

using gcc_graph::Fleet;
using gcc_graph::FleetDevice;
using gcc_graph::FleetLink;

struct Inventory {
  Fleet fleet;
  std::vector<std::string> about;    // per device: what the fleet's JSON has no field for
  std::vector<std::string> remarks;  // sentences about the machine: a quota, a driver that does not open
};

/// Only cores that this process may use are named. `probe`: also measures rates, bandwidths and links, about a second.
Inventory take_inventory(bool probe);

// The parts of it, which add to what is there.
void add_cpu_pools(Inventory& inventory, bool probe);  // cpu_pools.cpp
void add_gpus(Inventory& inventory, bool probe);       // gpus.cpp; nothing where there is no driver

/// "cpu:0-3,8" of cores in ascending order: what LoadOptions.device and --device take.
std::string pool_name(const std::vector<int>& cores);

}  // namespace gcg::tools
