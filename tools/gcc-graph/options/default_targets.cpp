#include "tools/gcc-graph/options/default_targets.h"

#include <algorithm>
#include <set>

#include "compiler/kernel/target.h"
#include "compiler/support/error.h"

#if GCC_GRAPH_CUDA_RUNTIME
#include "codegen/cuda/assembler/nvrtc.h"
#include "runtime/cuda/driver/device.h"
#endif

namespace gcg::tools {
namespace {

#if GCC_GRAPH_CUDA_RUNTIME
static_assert(kOldestDriver == gart::cuda::kOldestDriver);

/// The target whose code an sm_<sm> runs best: with its own instructions, then plainly, then what every GPU from sm_80
/// on takes. Empty: there is none.
std::string target_for(int sm) {
  for (const std::string& name : {concat("sm_", sm, "a"), concat("sm_", sm)})
    if (find_target(name)) return name;
  return sm >= find_target("ptx")->sm ? "ptx" : "";
}

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
      const std::string name = target_for(sm);
      if (name.empty()) fail("there is no such target");
      const int version = (*driver)->version;
      cuda::Nvrtc::for_driver(version, name == "ptx");
      // A cubin loads on all drivers of one major version, PTX only on those that know its version.
      const int oldest = name == "ptx" ? version : std::max(version / 1000 * 1000, kOldestDriver);
      out.gpus.push_back(concat(name, ":", gart::cuda::version_text(oldest)));
    } catch (const CompileError& error) {
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
