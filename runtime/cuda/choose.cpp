#include "runtime/cuda/choose.h"

#include <algorithm>
#include <charconv>
#include <iterator>

#include "runtime/cuda/program.h"
#include "runtime/device.h"
#include "runtime/errors.h"
#include "runtime/targets.h"

namespace gart::cuda {
namespace {

bool is_jetson(int sm) {
  constexpr int kJetsons[] = {53, 62, 72, 87, 101, 110};
  return std::find(std::begin(kJetsons), std::end(kJetsons), sm) != std::end(kJetsons);
}

constexpr int64_t kNone = -1;

/// The index of the best target; kNone with a reason if there is none.
int64_t best_target(const fb::Manifest& manifest, const LoadOptions& options, const Driver& driver, int sm,
                    std::string& reason) {
  const std::string& requested = options.target;
  int64_t best = kNone;
  uint32_t best_fitness = 0;
  for (uint32_t i = 0; i < count_of(manifest.targets()); ++i) {
    const fb::Target& target = *manifest.targets()->Get(i);
    const std::string_view name = view_of(target.name());
    if (!requested.empty() && name != requested) continue;
    const uint32_t fits = fitness(target, sm);
    if (fits <= best_fitness) continue;
    if (!has_plans(manifest, i, options)) {
      reason = text("its code for ", name, " is for a fleet (gart::fleet::load)");
      continue;
    }
    if (target.driver() > uint32_t(driver.version)) {
      reason = text("its code for ", name, " needs a driver for CUDA ", version_text(int(target.driver())),
                    " or newer, this one is for ", version_text(driver.version));
      continue;
    }
    best = i;
    best_fitness = fits;
  }
  if (best == kNone && reason.empty()) {
    reason = text("the GPU is an sm_", sm, "; the model has code for ",
                  requested.empty() ? target_list(manifest, TargetsOf::cuda) : requested);
  }
  return best;
}

/// The first device that the artifact has code for.
DeviceChoice choose(const Driver& driver, const fb::Manifest& manifest, const LoadOptions& options, int first,
                    int last) {
  std::string reasons;
  for (int ordinal = first; ordinal < last; ++ordinal) {
    CUdevice handle = 0;
    int sm = 0;
    std::string reason;
    CUresult result = driver.cuDeviceGet(&handle, ordinal);
    if (result == CUDA_SUCCESS) result = get_sm(driver, handle, sm);
    if (result != CUDA_SUCCESS) {
      reason = result_text(driver, result);
    } else {
      const int64_t target = best_target(manifest, options, driver, sm, reason);
      if (target != kNone) return {std::make_unique<Program>(driver, ordinal, uint32_t(target), options.blocking), {}};
    }
    reasons += text(reasons.empty() ? "" : "; ", "cuda:", ordinal, ": ", reason);
  }
  return {nullptr, reasons};
}

bool has_cuda_target(const fb::Manifest& manifest, const std::string& requested) {
  for (uint32_t i = 0; i < count_of(manifest.targets()); ++i) {
    const fb::Target& target = *manifest.targets()->Get(i);
    if (target.kind() != fb::TargetKind::cpu && (requested.empty() || view_of(target.name()) == requested)) return true;
  }
  return false;
}

}  // namespace

uint32_t fitness(const fb::Target& target, int sm) {
  const int capability = int(target.sm());
  if (target.kind() == fb::TargetKind::cpu || capability <= 0 || capability > sm) return 0;
  if (target.kind() == fb::TargetKind::cuda_ptx) return 1;
  const std::string_view name = view_of(target.name());
  const char suffix = name.empty() ? '\0' : name.back();
  if (suffix == 'a') return capability == sm ? uint32_t(capability) * 4 + 3 : 0;
  if (capability / 10 != sm / 10 || (capability != sm && (is_jetson(capability) || is_jetson(sm)))) return 0;
  return uint32_t(capability) * 4 + (suffix == 'f' ? 2 : 1);
}

}  // namespace gart::cuda

namespace gart {

DeviceChoice choose_cuda(const fb::Manifest& manifest, const LoadOptions& options) {
  using namespace cuda;
  if (!has_cuda_target(manifest, options.target)) {
    if (options.target.empty())
      return {nullptr, text("the model has no code for GPUs, only for ", target_list(manifest))};
    return {nullptr, text("the model has no GPU code for target '", options.target,
                          "', only for: ", target_list(manifest, TargetsOf::cuda))};
  }
  Result<const Driver*> driver = open_driver();
  if (!driver) return {nullptr, driver.error().message};
  int count = 0;
  if (const CUresult result = (*driver)->cuDeviceGetCount(&count); result != CUDA_SUCCESS) {
    return {nullptr, text("cuDeviceGetCount failed: ", result_text(**driver, result))};
  }
  if (count == 0) return {nullptr, "the CUDA driver finds no GPU"};
  constexpr std::string_view kPrefix = "cuda:";
  if (!options.device.starts_with(kPrefix)) return choose(**driver, manifest, options, 0, count);
  int ordinal = -1;
  const char* end = options.device.data() + options.device.size();
  const auto parsed = std::from_chars(options.device.data() + kPrefix.size(), end, ordinal);
  if (parsed.ec != std::errc() || parsed.ptr != end || ordinal < 0 || ordinal >= count) {
    return {nullptr, text("there is no device '", options.device, "', only cuda:0 to cuda:", count - 1)};
  }
  return choose(**driver, manifest, options, ordinal, ordinal + 1);
}

}  // namespace gart
