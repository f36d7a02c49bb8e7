// The kinds of devices of this library, one row each.
#include <sched.h>

#include "artifact_schema/status.h"
#include "runtime/fleet/assembly.h"
#include "runtime/fleet/device_kind.h"
#include "runtime/fleet_devices/gpu_space.h"

namespace gart::fleet {
namespace {

/// Formats ascending numbers as "0-3,8".
std::string ranges(const std::vector<uint32_t>& numbers) {
  std::string out;
  for (size_t i = 0; i < numbers.size(); ++i) {
    const size_t first = i;
    while (i + 1 < numbers.size() && numbers[i + 1] == numbers[i] + 1) ++i;
    out += text(first == 0 ? "" : ",", numbers[first]);
    if (i > first) out += text("-", numbers[i]);
  }
  return out;
}

/// Names the pool by its cores if it lists them, or else by its device name.
std::string pool_here(const Device& device) {
  if (!device.cores.empty()) return "cpu:" + ranges(device.cores);
  return device.name.starts_with("cpu:") ? device.name : "cpu";
}

std::string present_cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  std::vector<uint32_t> cores;
  if (sched_getaffinity(0, sizeof set, &set) == 0) {
    for (uint32_t core = 0; core < CPU_SETSIZE; ++core)
      if (CPU_ISSET(core, &set)) cores.push_back(core);
  }
  return "cpu:" + ranges(cores);
}

std::string gpu_here(const Device& device) { return text("cuda:", device.ordinal); }

std::string present_gpus() { return "the GPUs of the CUDA driver (cuda:0 ...)"; }

}  // namespace

std::deque<DeviceKind>& device_kinds() {
  static std::deque<DeviceKind> rows = {{.name = "cpu",
                                         .in_files = {fb::TargetKind::cpu},
                                         .has_threads = true,
                                         .here = pool_here,
                                         .present = present_cores},
                                        {.name = "cuda",
                                         .in_files = {fb::TargetKind::cuda_sm, fb::TargetKind::cuda_ptx},
                                         .fails_together = true,
                                         .here = gpu_here,
                                         .present = present_gpus,
                                         .open_space = open_gpu_space}};
  return rows;
}

}  // namespace gart::fleet
