// The CPUs that the device suite tests: any cores, one core, all cores by name.
#include "runtime/cpu/cores.h"
#include "tests/runtime/device_suite.h"

namespace gart::test {

std::vector<DeviceUnderTest> devices_under_test() {
  const auto as_it_is = [](ArtifactBuilder model) { return model; };
  const std::string cores = cpu::Cores::allowed().text(), first = cores.substr(0, cores.find_first_of(",-"));
  return {{.name = "CpuAlone", .device = "cpu", .model = as_it_is, .threads = 1},
          {.name = "CpuTeam", .device = "cpu", .model = as_it_is, .threads = 3},
          {.name = "CpuOneCore", .device = "cpu:" + first, .model = as_it_is, .threads = 1},
          {.name = "CpuCores", .device = "cpu:" + cores, .model = as_it_is, .threads = 2}};
}

}  // namespace gart::test
