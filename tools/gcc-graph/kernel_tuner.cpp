#include "tools/gcc-graph/kernel_tuner.h"

#include <dlfcn.h>

#include <array>
#include <cmath>

#include "compiler/kernel_artifact.h"
#include "compiler/support/error.h"
#include "runtime/cuda/device.h"
#include "tools/gcc-graph/device_bench.h"

namespace gcg::tools {
namespace {

using namespace gart::cuda;

/// Notes what is asked, and answers one question with a given candidate.
class OneDecision final : public Decisions {
 public:
  OneDecision() = default;
  OneDecision(const Decision& about, size_t candidate) : decision_(about), candidate_(candidate) {}

  std::optional<size_t> choose(const Decision& decision) const override {
    if (candidate_ && decision.kernel == decision_->kernel && decision.shape == decision_->shape) return candidate_;
    if (!decision_) decision_ = decision;
    return std::nullopt;
  }
  const std::optional<Decision>& decision() const { return decision_; }

 private:
  mutable std::optional<Decision> decision_;
  std::optional<size_t> candidate_;
};

/// Another candidate has to be this much faster than the cost model's: less is noise.
constexpr double kWorthAChange = 0.98;

bool is_open(const Kernel& kernel) {
  for (const Operand& operand : kernel.operands)
    for (const Dim& extent : operand.shape)
      if (!extent.is_constant()) return true;
  return false;
}

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

NamedTensors random_inputs(const gart::Program& program) {
  InputOptions options;
  options.random_seed = 1;
  return collect_inputs(program, options);
}

}  // namespace

KernelTuner::KernelTuner(const Backend& backend, TuningFile& file, const TuneOptions& options, Report report)
    : backend_(backend), file_(file), options_(options), report_(std::move(report)) {
  const Driver& driver = require_driver();
  device_ = device_name(driver);
  driver_ = version_text(driver.version);
}

CompiledBlob KernelTuner::compile(const std::vector<const Kernel*>& kernels, const Target& target, int threads) const {
  Target asking = target;
  for (const Kernel* kernel : kernels) {
    const OneDecision first;
    asking.decisions = &first;
    backend_.compile({kernel}, asking, 1);
    if (first.decision()) tune(*kernel, target, *first.decision());
  }
  asking.decisions = &file_;
  return backend_.compile(kernels, asking, threads);
}

void KernelTuner::tune(const Kernel& kernel, const Target& target, const Decision& decision) const {
  if (is_open(kernel)) {
    ++open_;
    return;
  }
  if (!seen_.insert(concat(decision.target, decision.kernel, decision.shape)).second) return;
  if (file_.has(decision) && !options_.again) {
    ++known_;
    return;
  }
  const std::string& favourite = decision.candidates.front();
  Measured m{favourite, favourite, {}, device_, driver_};
  for (size_t i = 0; i < decision.candidates.size(); ++i) {
    const std::string& candidate = decision.candidates[i];
    report_(concat(decision.kernel, " ", decision.shape, ": ", i + 1, " of ", decision.candidates.size(), ", ", candidate));
    m.microseconds[candidate] = microseconds(kernel, target, decision, i);
    const double best = m.microseconds[m.choice] * (m.choice == favourite ? kWorthAChange : 1);
    if (m.microseconds[candidate] < best) m.choice = candidate;
  }
  file_.put(decision, std::move(m));
  ++measured_;
}

double KernelTuner::microseconds(const Kernel& kernel, const Target& target, const Decision& decision,
                                 size_t candidate) const {
  Target asking = target;
  const OneDecision forced(decision, candidate);
  asking.decisions = &forced;
  const std::vector<uint8_t> artifact =
      kernel_artifact(kernel, target, backend_.compile({&kernel}, asking, 1), options_.launches);
  gart::LoadOptions load;
  load.device = "cuda";
  const gart::Program program = value_or_throw(gart::load(std::span<const uint8_t>(artifact), load));
  const auto times = time_on_device(program, random_inputs(program), options_.seconds);
  GCG_CHECK(times.has_value(), "the program runs on ", program.device());
  return std::round(times->device_ms * 1e6 / options_.launches) / 1000;
}

std::string target_of_gpu() {
  const Driver& driver = require_driver();
  CUdevice device = 0;
  int sm = 0;
  if (driver.cuDeviceGet(&device, 0) != CUDA_SUCCESS || get_sm(driver, device, sm) != CUDA_SUCCESS)
    fail("the driver does not say what GPU there is");
  const std::string name = concat("sm_", sm);
  return find_target(name + "a") ? name + "a" : name;
}

}  // namespace gcg::tools
