#include <algorithm>

#include "artifact_schema/cpu_features.h"
#include "compiler/kernel/cpu_levels.h"
#include "compiler/kernel/machine.h"
#include "gcc_graph/fleet.h"
#include "runtime/features.h"
#include "tools/api/graph_state.h"

namespace gcc_graph {
namespace {

/// The features of this CPU that the system lets this process use, without those that make code slower here.
uint64_t useful_features() {
  uint64_t features = gart::cpu_features();
  if ((features & gart::kCpuAmx) != 0 && !gart::may_use_tiles()) features &= ~uint64_t{gart::kCpuAmx};
  if ((features & gart::kCpuAmx) == 0 && gart::multiplies_pairs_slowly()) features &= ~uint64_t{gart::kCpuAvx512Bf16};
  return features;
}

}  // namespace

std::vector<std::string> host_targets() {
  std::vector<const gcg::CpuLevel*> here;
  for (const gcg::CpuLevel& level : gcg::cpu_levels())
    if ((level.features & ~useful_features()) == 0) here.push_back(&level);
  std::sort(here.begin(), here.end(), [](const auto* a, const auto* b) { return a->features < b->features; });
  std::vector<std::string> names;
  for (const gcg::CpuLevel* level : here) names.push_back(level->name);
  return names;
}

std::string host_target() {
  const gcg::CpuLevel* best = gcg::best_cpu_level(useful_features());
  return best == nullptr ? "" : best->name;
}

int vector_bytes_of_cpu(const std::string& target) {
  return detail::guarded([&] { return gcg::machine_of(gcg::require_targets({target}).front()).vector_bytes; });
}

}  // namespace gcc_graph
