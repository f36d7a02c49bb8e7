#include "runtime/fleet/bindings.h"

#include <sched.h>

#include "artifact_schema/status.h"
#include "runtime/errors.h"

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

}  // namespace

std::string device_here(const Device& device) {
  if (!device.host.empty())
    fail(ErrorCode::unsupported, "device '", device.name, "' is on host '", device.host, "'; this runtime runs on one");
  if (device.is_gpu) return text("cuda:", device.ordinal);
  if (!device.cores.empty()) return "cpu:" + ranges(device.cores);
  return device.name.starts_with("cpu:") ? device.name : "cpu";
}

std::string present_devices() {
  cpu_set_t set;
  CPU_ZERO(&set);
  std::vector<uint32_t> cores;
  if (sched_getaffinity(0, sizeof set, &set) == 0) {
    for (uint32_t core = 0; core < CPU_SETSIZE; ++core)
      if (CPU_ISSET(core, &set)) cores.push_back(core);
  }
  return text("this process may use cpu:", ranges(cores), " and the GPUs of the CUDA driver (cuda:0 ...)");
}

}  // namespace gart::fleet
