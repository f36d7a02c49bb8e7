#include "tools/gcc-graph/options/default_targets.h"

#include <set>

#include "gcc_graph/fleet.h"

#if GCC_GRAPH_CUDA_RUNTIME
#include "runtime/cuda/driver/device.h"
#include "tools/gcc-graph/support/fail.h"
#endif

namespace gcg::tools {
namespace {

#if GCC_GRAPH_CUDA_RUNTIME
std::set<int> present_architectures(const gart::cuda::Driver& driver) {
  std::set<int> found;
  int count = 0;
  if (driver.cuDeviceGetCount(&count) != gart::cuda::CUDA_SUCCESS) return found;
  for (int i = 0; i < count; ++i) {
    gart::cuda::CUdevice device = 0;
    int sm = 0;
    const bool known = driver.cuDeviceGet(&device, i) == gart::cuda::CUDA_SUCCESS &&
                       gart::cuda::get_sm(driver, device, sm) == gart::cuda::CUDA_SUCCESS;
    if (known) found.insert(sm);
  }
  return found;
}

void add_gpus(DefaultTargets& out) {
  const auto driver = gart::cuda::open_driver();
  if (!driver.ok()) return;  // a machine without GPUs
  for (int sm : present_architectures(**driver)) try {
      out.gpus.push_back(gcc_graph::target_for_driver(sm, (*driver)->version));
    } catch (const Error& error) {
      out.remarks.push_back(concat("no code for the sm_", sm, " in this machine: ", error.what()));
    }
}
#endif

}  // namespace

DefaultTargets default_targets() {
  DefaultTargets out;
#if GCC_GRAPH_CUDA_RUNTIME
  add_gpus(out);
#endif
  return out;
}

}  // namespace gcg::tools
