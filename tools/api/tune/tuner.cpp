#include "tools/api/tune/tuner.h"

#include <dlfcn.h>

#include <array>
#include <cmath>

#include "compiler/kernel/target.h"
#include "compiler/support/error.h"
#include "runtime/cuda/driver/device.h"
#include "runtime/errors.h"

namespace gcg::tune {
namespace {

using namespace gart::cuda;

/// Another candidate must be faster than the expected one by this factor; smaller differences are noise.
constexpr double kWorthAChange = 0.98;

std::string device_name(const Driver& driver) {
  CUdevice device = 0;
  std::array<char, 128> name = {};
  void* const library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
  using GetName = CUresult (*)(char*, int, CUdevice);
  const auto get_name = library ? reinterpret_cast<GetName>(dlsym(library, "cuDeviceGetName")) : nullptr;
  if (!get_name || driver.cuDeviceGet(&device, 0) != CUDA_SUCCESS ||
      get_name(name.data(), static_cast<int>(name.size()) - 1, device) != CUDA_SUCCESS)
    return "a GPU";
  return name.data();
}

const Driver& require_driver() {
  const auto driver = open_driver();
  if (!driver.ok()) fail("tuning measures on a GPU, and there is none here: ", driver.error().message);
  return *driver.value();
}

}  // namespace

Tuner::Tuner(TuningFile& file, const MeasuringOptions& options, Report report)
    : file_(file), options_(options), report_(std::move(report)) {
  const Driver& driver = require_driver();
  try {
    context_ = std::make_shared<Device>(driver, 0);
  } catch (const gart::Failure& failure) {
    fail("tuning measures on a GPU: ", failure.error.message);
  }
  device_ = device_name(driver);
  driver_ = version_text(driver.version);
}

bool Tuner::wants(const Decision& decision) {
  if (!seen_.insert(concat(decision.target, decision.kernel, decision.shape)).second) return false;
  if (options_.again || !file_.has(decision)) return true;
  ++known_;
  return false;
}

void Tuner::decide(const Decision& decision, const std::function<std::vector<uint8_t>(size_t)>& artifact) {
  const std::string& favourite = decision.candidates.front();
  Measured m{favourite, favourite, {}, device_, driver_};
  for (size_t i = 0; i < decision.candidates.size(); ++i) {
    const std::string& candidate = decision.candidates[i];
    report_(
        concat(decision.kernel, " ", decision.shape, ": ", i + 1, " of ", decision.candidates.size(), ", ", candidate));
    m.microseconds[candidate] = std::round(options_.run_us(artifact(i)) * 1e3 / options_.launches) / 1000;
    const double best = m.microseconds[m.choice] * (m.choice == favourite ? kWorthAChange : 1);
    if (m.microseconds[candidate] < best) m.choice = candidate;
  }
  file_.put(decision, std::move(m));
  ++measured_;
}

std::string target_of_gpu() {
  const Driver& driver = require_driver();
  CUdevice device = 0;
  int sm = 0;
  if (driver.cuDeviceGet(&device, 0) != CUDA_SUCCESS || get_sm(driver, device, sm) != CUDA_SUCCESS)
    fail("the driver does not name the GPU");
  const std::string name = concat("sm_", sm);
  return find_target(name + "a") ? name + "a" : name;
}

}  // namespace gcg::tune
