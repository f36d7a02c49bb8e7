#include "runtime/fleet/without_device.h"

#include <algorithm>
#include <set>

#include "artifact_schema/spans.h"
#include "runtime/errors.h"
#include "runtime/fleet/device_kind.h"

namespace gart::fleet {
namespace {

bool has_cpu_code(const fb::Manifest& manifest, const fb::EntryPoint& entry) {
  for (const fb::Plan* plan : *entry.plans())
    if (manifest.targets()->Get(plan->target())->kind() == fb::TargetKind::cpu) return true;
  return false;
}

/// The devices of this host except `device`, if together they run all groups; otherwise empty. If all devices of the
/// missing device's kind fail together, none of them counts.
std::string others_that_suffice(const Assembly& assembly, uint32_t device) {
  const DeviceKind* missing = assembly.devices[device].kind;
  std::set<uint32_t> others;
  for (const Group& group : assembly.groups) {
    const auto is_other = [&](uint32_t d) {
      return d != device && assembly.devices[d].host.empty() &&
             !(missing->fails_together && assembly.devices[d].kind == missing);
    };
    if (std::none_of(group.support.begin(), group.support.end(), is_other)) return {};
    std::copy_if(group.support.begin(), group.support.end(), std::inserter(others, others.end()), is_other);
  }
  std::string names;
  for (const uint32_t d : others) names += text(names.empty() ? "" : ",", assembly.devices[d].name);
  return names;
}

}  // namespace

bool cpu_stands_in(const fb::Manifest& manifest, const Assembly& assembly, uint32_t device) {
  std::set<std::string_view> entries;
  for (const PartCall& call : assembly.calls)
    if (assembly.groups[call.group].device == device) entries.insert(assembly.entries[call.entry]);
  return std::all_of(manifest.entry_points()->begin(), manifest.entry_points()->end(), [&](const auto* entry) {
    return entries.count(view_of(entry->name())) == 0 || has_cpu_code(manifest, *entry);
  });
}

std::string ways_without(const fb::Manifest& manifest, const Assembly& assembly, uint32_t device) {
  const std::string& name = assembly.devices[device].name;
  std::string ways;
  const auto add = [&](const std::string& way) { ways += (ways.empty() ? "" : ", or ") + way; };
  if (const std::string others = others_that_suffice(assembly, device); !others.empty())
    add(text("use only the other devices (LoadOptions.only, --devices ", others, ")"));
  if (cpu_stands_in(manifest, assembly, device))
    add(text("choose a substitute (LoadOptions.devices, --devices ", name, "=cpu)"));
  for (const fb::EntryPoint* entry : *manifest.entry_points())
    if (!entry->internal() && has_cpu_code(manifest, *entry)) {
      add("run the whole model on the CPU (gart::load, --device cpu)");
      break;
    }
  return ways.empty() ? "the file has no code for CPUs: compile the model for a CPU target, too" : ways;
}

}  // namespace gart::fleet
