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
  std::vector<std::string> about;    // per device: facts that the fleet's JSON has no field for
  std::vector<std::string> remarks;  // remarks about the machine, such as a quota or a driver that does not open
};

/// Lists only cores that this process may use. `probe`: also measures rates, bandwidths and links, which takes about a
/// second.
Inventory take_inventory(bool probe);

// Each of these functions adds one part to the inventory.
void add_cpu_pools(Inventory& inventory, bool probe);  // cpu_pools.cpp
void add_gpus(Inventory& inventory, bool probe);       // in gpus.cpp; adds nothing if there is no driver

/// "cpu:0-3,8" for cores in ascending order: the form that LoadOptions.device and --device take.
std::string pool_name(const std::vector<int>& cores);

}  // namespace gcg::tools
