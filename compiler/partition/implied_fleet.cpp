#include "compiler/partition/implied_fleet.h"

#include <algorithm>

#include "compiler/kernel/device_traits.h"
#include "compiler/partition/runs_on.h"
#include "compiler/support/error.h"

namespace gcg {
namespace {

bool has(const std::vector<Target>& targets, DeviceClass device) {
  return std::any_of(targets.begin(), targets.end(), [&](const Target& t) { return t.device == device; });
}

bool is_cpu(DeviceClass device) { return traits_of(device).calls_the_application; }

/// The first target's class of accelerators; nullopt: all targets are CPUs.
std::optional<DeviceClass> accelerator_of(const std::vector<Target>& targets) {
  for (const Target& t : targets)
    if (!is_cpu(t.device)) return t.device;
  return std::nullopt;
}

/// The first node that only CPUs run; null: there is none.
const Node* first_for_cpus(const Graph& model) {
  for (NodeId id : model.order())
    if (only_on_cpus(model.node(id))) return &model.node(id);
  return nullptr;
}

std::string with_cpu(const std::vector<Target>& targets) {
  return concat("there is no CPU target; add one, such as --target ", targets.at(0).name, ",x86-64-v3");
}

}  // namespace

Fleet fleet_of(const std::vector<Target>& targets) {
  Fleet fleet;
  for (const bool cpus : {false, true})  // accelerators come first
    for (const DeviceClass kind : kDeviceClasses) {
      if (is_cpu(kind) != cpus || !has(targets, kind)) continue;
      fleet.devices.emplace_back().kind = kind;
      fleet.devices.back().name = traits_of(kind).first;
    }
  return fleet;
}

std::optional<Fleet> implied_fleet(const Graph& model, const std::vector<Target>& targets, CutOptions& cut) {
  const bool has_assignments = !cut.assignments.empty();
  const std::optional<DeviceClass> accelerator = accelerator_of(targets);
  if (!has_assignments && (!accelerator || first_for_cpus(model) == nullptr)) return std::nullopt;
  if (!accelerator)
    fail("--assign moves nodes between a GPU and the CPU, but there is no GPU target; name other devices by --fleet");
  if (has_assignments && std::none_of(targets.begin(), targets.end(), [](const Target& t) { return is_cpu(t.device); }))
    fail("--assign moves nodes between a GPU and the CPU, but ", with_cpu(targets));
  cut.others = accelerator;
  return fleet_of(targets);
}

std::vector<Target> targets_of_whole(const Graph& model, const std::vector<Target>& targets) {
  const Node* node = first_for_cpus(model);
  if (node == nullptr) return targets;
  std::vector<Target> cpus;
  std::copy_if(targets.begin(), targets.end(), std::back_inserter(cpus),
               [](const Target& t) { return is_cpu(t.device); });
  if (cpus.empty())
    fail("node '", node->name, "' is, or holds, a custom operator, which only CPUs run, but ", with_cpu(targets));
  return cpus;
}

}  // namespace gcg
