// The simulated GPUs that the device suite tests: control flow decided by the host or on the device, and adversarial
// orders of work.
#include "tests/cuda/runtime/cuda_models.h"
#include "tests/cuda/runtime/sim.h"
#include "tests/runtime/device_suite.h"

namespace gart::test {

std::vector<DeviceUnderTest> devices_under_test() {
  std::vector<DeviceUnderTest> devices;
  const auto add = [&](const char* name, auto model, const char* order) {
    devices.push_back({.name = name,
                       .device = "cuda:0",
                       .model = model,
                       .begin = [order] { Sim::get().begin(order); },
                       .end = [] { Sim::get().end(); }});
  };
  add("CudaFirstIn", on_cuda, "first_in");
  add("CudaLastIn", on_cuda, "last_in");
  add("CudaRandom", on_cuda, "random:3");
  add("CudaDelay", on_cuda, "delay:2");
  add("CudaConditionalGraphs", with_conditional_kernel, "mixed:5");
  return devices;
}

}  // namespace gart::test
