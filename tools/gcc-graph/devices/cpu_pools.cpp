#include <hwloc.h>
#include <sched.h>

#include <algorithm>
#include <memory>

#include "tools/gcc-graph/devices/inventory.h"
#include "tools/gcc-graph/devices/probe.h"
#include "tools/gcc-graph/devices/quota.h"
#include "tools/gcc-graph/support/fail.h"

namespace gcg::tools {
namespace {

struct EndTopology {
  void operator()(hwloc_topology_t topology) const { hwloc_topology_destroy(topology); }
};
using Topology = std::unique_ptr<hwloc_topology, EndTopology>;

/// Null if hwloc cannot read the topology.
Topology load_topology() {
  hwloc_topology_t topology = nullptr;
  if (hwloc_topology_init(&topology) != 0) return nullptr;
  Topology owned(topology);
  return hwloc_topology_load(topology) == 0 ? std::move(owned) : nullptr;
}

std::vector<int> allowed_cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) != 0) CPU_SET(0, &set);
  std::vector<int> cores;
  for (int core = 0; core < CPU_SETSIZE; ++core)
    if (CPU_ISSET(core, &set)) cores.push_back(core);
  return cores;
}

std::vector<int> cores_of(hwloc_const_bitmap_t set, const std::vector<int>& allowed) {
  std::vector<int> cores;
  for (const int core : allowed)
    if (hwloc_bitmap_isset(set, static_cast<unsigned>(core)) != 0) cores.push_back(core);
  return cores;
}

std::string mebibytes(uint64_t bytes) { return concat(bytes >> 20, " MiB"); }

/// Pairs of cores that are hyperthreads of one core, as "0+8 1+9"; empty if there are none.
std::string hyperthreads(hwloc_topology_t topology, hwloc_const_bitmap_t set, const std::vector<int>& allowed) {
  std::string pairs;
  const int count = hwloc_get_nbobjs_inside_cpuset_by_type(topology, set, HWLOC_OBJ_CORE);
  for (int i = 0; i < count; ++i) {
    const hwloc_obj_t core = hwloc_get_obj_inside_cpuset_by_type(topology, set, HWLOC_OBJ_CORE, unsigned(i));
    const std::vector<int> threads = cores_of(core->cpuset, allowed);
    if (threads.size() < 2) continue;
    for (size_t t = 0; t < threads.size(); ++t) pairs += concat(t > 0 ? "+" : pairs.empty() ? "" : " ", threads[t]);
  }
  return pairs;
}

std::string about_pool(hwloc_topology_t topology, hwloc_obj_t group, const std::vector<int>& allowed) {
  std::string text;
  const hwloc_obj_t socket =
      group->type == HWLOC_OBJ_PACKAGE ? group : hwloc_get_ancestor_obj_by_type(topology, HWLOC_OBJ_PACKAGE, group);
  if (socket != nullptr) {
    text += concat("socket ", socket->os_index);
    if (const char* model = hwloc_obj_get_info_by_name(socket, "CPUModel")) text += concat(" (", model, ")");
  }
  if (group->type == HWLOC_OBJ_L3CACHE)
    text += concat(text.empty() ? "" : ", ", "L3 cache of ", mebibytes(group->attr->cache.size));
  const size_t threads = cores_of(group->cpuset, allowed).size();
  const std::string pairs = hyperthreads(topology, group->cpuset, allowed);
  text += concat(text.empty() ? "" : ", ", threads, threads == 1 ? " core" : " cores");
  return pairs.empty() ? text : text + ", hyperthreads of one core: " + pairs;
}

/// The memory near a group of cores, divided among the groups that share it.
int64_t memory_near(hwloc_topology_t topology, hwloc_obj_t group, const std::vector<hwloc_obj_t>& groups) {
  uint64_t bytes = 0;
  for (hwloc_obj_t node = nullptr;
       (node = hwloc_get_next_obj_by_type(topology, HWLOC_OBJ_NUMANODE, node)) != nullptr;) {
    if (hwloc_bitmap_intersects(node->nodeset, group->nodeset) == 0) continue;
    const auto sharing = std::count_if(groups.begin(), groups.end(), [&](hwloc_obj_t other) {
      return hwloc_bitmap_intersects(node->nodeset, other->nodeset) != 0;
    });
    bytes += node->attr->numanode.local_memory / static_cast<uint64_t>(std::max<std::ptrdiff_t>(sharing, 1));
  }
  return static_cast<int64_t>(bytes);
}

/// The groups of cores: one per L3 cache, else one per socket, else the whole machine. The first kind whose groups hold
/// every allowed core is used.
std::vector<hwloc_obj_t> groups_of(hwloc_topology_t topology, const std::vector<int>& allowed) {
  for (const hwloc_obj_type_t type : {HWLOC_OBJ_L3CACHE, HWLOC_OBJ_PACKAGE, HWLOC_OBJ_MACHINE}) {
    std::vector<hwloc_obj_t> groups;
    size_t cores = 0;
    for (hwloc_obj_t group = nullptr; (group = hwloc_get_next_obj_by_type(topology, type, group)) != nullptr;) {
      const size_t own = cores_of(group->cpuset, allowed).size();
      if (own > 0) groups.push_back(group);
      cores += own;
    }
    if (cores == allowed.size()) return groups;
  }
  return {};
}

void add_pool(Inventory& inventory, std::vector<int> cores, int64_t memory_bytes, std::string about) {
  FleetDevice device;
  device.name = pool_name(cores);
  device.cores = std::move(cores);
  device.target = gcc_graph::host_target();
  device.memory_bytes = memory_bytes;
  inventory.fleet.devices.push_back(std::move(device));
  inventory.about.push_back(std::move(about));
}

}  // namespace

std::string pool_name(const std::vector<int>& cores) {
  std::string name = "cpu:";
  for (size_t i = 0; i < cores.size(); ++i) {
    const size_t first = i;
    while (i + 1 < cores.size() && cores[i + 1] == cores[i] + 1) ++i;
    name += concat(first > 0 ? "," : "", cores[first]);
    if (i > first) name += concat("-", cores[i]);
  }
  return name;
}

void add_cpu_pools(Inventory& inventory, bool probe) {
  const std::vector<int> allowed = allowed_cores();
  const Quota quota = read_quota();
  const Topology topology = load_topology();
  const std::vector<hwloc_obj_t> groups = topology ? groups_of(topology.get(), allowed) : std::vector<hwloc_obj_t>();
  const size_t first = inventory.fleet.devices.size(), pools = std::max<size_t>(groups.size(), 1);
  for (const hwloc_obj_t group : groups) {
    int64_t memory = memory_near(topology.get(), group, groups);
    const int64_t share = quota.memory_bytes / static_cast<int64_t>(pools);
    if (share > 0 && (memory == 0 || share < memory)) memory = share;
    add_pool(inventory, cores_of(group->cpuset, allowed), memory, about_pool(topology.get(), group, allowed));
  }
  if (groups.empty()) add_pool(inventory, allowed, quota.memory_bytes, "the topology is not known");
  if (quota.cpus > 0 && quota.cpus < static_cast<double>(allowed.size()))
    inventory.remarks.push_back(concat("this process may use the time of ", quota.cpus, " CPUs, but ", allowed.size(),
                                       " cores: threads beyond that are stopped"));
  if (!probe) return;
  for (size_t i = first; i < inventory.fleet.devices.size(); ++i) probe_pool(inventory.fleet.devices[i]);
}

Inventory take_inventory(bool probe) {
  Inventory inventory;
  add_cpu_pools(inventory, probe);
  add_gpus(inventory, probe);
  return inventory;
}

}  // namespace gcg::tools
