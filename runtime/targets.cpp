#include "runtime/targets.h"

#include <algorithm>

#include "artifact_schema/cpu_features.h"
#include "runtime/errors.h"
#include "runtime/features.h"

namespace gart {

bool is_wanted(const fb::EntryPoint& entry, const LoadOptions& options) {
  const auto& names = options.entry_points;
  return names.empty() ? !entry.internal() : std::binary_search(names.begin(), names.end(), view_of(entry.name()));
}

bool has_plans(const fb::Manifest& manifest, uint32_t target, const LoadOptions& options) {
  for (uint32_t e = 0; e < manifest.entry_points()->size(); ++e) {
    if (!is_wanted(*manifest.entry_points()->Get(e), options)) continue;
    const auto& plans = *manifest.entry_points()->Get(e)->plans();
    bool found = false;
    for (uint32_t p = 0; p < plans.size(); ++p) found = found || plans.Get(p)->target() == target;
    if (!found) return false;
  }
  return true;
}

bool is_cuda_target(const fb::Manifest& manifest, const std::string& name) {
  for (uint32_t i = 0; i < count_of(manifest.targets()); ++i) {
    const fb::Target& target = *manifest.targets()->Get(i);
    if (target.kind() != fb::TargetKind::cpu && view_of(target.name()) == name) return true;
  }
  return false;
}

std::string target_list(const fb::Manifest& manifest, TargetsOf which) {
  std::string names;
  for (uint32_t i = 0; i < count_of(manifest.targets()); ++i) {
    const fb::Target& target = *manifest.targets()->Get(i);
    const bool cpu = target.kind() == fb::TargetKind::cpu;
    if (which != TargetsOf::all && cpu != (which == TargetsOf::cpu)) continue;
    names += (names.empty() ? "" : ", ") + std::string(view_of(target.name()));
  }
  return names.empty() ? "none" : names;
}

/// The features that the CPU has and the process may use. The operating system is asked for AMX only if the model has
/// code for it (may_use_tiles).
uint64_t usable_features(const fb::Manifest& manifest) {
  const uint64_t cpu = cpu_features();
  for (uint32_t i = 0; i < count_of(manifest.targets()); ++i) {
    const uint64_t required = manifest.targets()->Get(i)->features();
    if ((required & kCpuAmx) != 0 && (required & ~cpu) == 0 && !may_use_tiles()) return cpu & ~kCpuAmx;
  }
  return cpu;
}

/// More features rank higher, but VDPBF16PS ranks last on CPUs whose f32 FMAs are faster.
uint64_t rank(uint64_t features) {
  const bool by_pairs = (features & kCpuAvx512Bf16) != 0 && (features & kCpuAmx) == 0;
  return by_pairs && multiplies_pairs_slowly() ? 0 : features;
}

uint32_t choose_cpu_target(const fb::Manifest& manifest, const LoadOptions& options) {
  const std::string& requested = options.target;
  const uint64_t cpu = usable_features(manifest);
  int64_t best = -1;
  for (uint32_t i = 0; i < count_of(manifest.targets()); ++i) {
    const fb::Target& target = *manifest.targets()->Get(i);
    if (target.kind() != fb::TargetKind::cpu || (!requested.empty() && view_of(target.name()) != requested)) continue;
    const uint64_t missing = target.features() & ~cpu;
    if (missing != 0 && !requested.empty()) {
      const bool has = (missing & ~cpu_features()) == 0;
      fail(ErrorCode::unsupported, "target '", requested, "' needs ", cpu_feature_names(missing),
           has ? ", which the system does not let this process use" : ", which this CPU lacks");
    }
    if (missing != 0 || !has_plans(manifest, i, options)) continue;
    if (best < 0 || rank(target.features()) > rank(manifest.targets()->Get(static_cast<uint32_t>(best))->features()))
      best = i;
  }
  if (best >= 0) return static_cast<uint32_t>(best);
  if (!requested.empty()) {
    fail(ErrorCode::unsupported, "the model has no CPU code for target '", requested,
         "', only for: ", target_list(manifest, TargetsOf::cpu));
  }
  fail(ErrorCode::unsupported, "the model has code for ", target_list(manifest), "; this CPU offers ",
       cpu_feature_names(cpu));
}

}  // namespace gart
