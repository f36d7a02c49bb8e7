#include "tools/gcc-graph/fleet/run_on_fleet.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <iostream>
#include <set>

#include "artifact_schema/spans.h"
#include "gcc_graph/fleet.h"
#include "gcc_graph/place.h"
#include "gcc_graph/values.h"
#include "runtime/fleet/without_device.h"
#include "tools/gcc-graph/devices/inventory.h"
#include "tools/gcc-graph/fleet/read_fleet.h"
#include "tools/gcc-graph/io/artifact_identity.h"
#include "tools/gcc-graph/io/assembly_section.h"
#include "tools/gcc-graph/io/printable.h"
#include "tools/gcc-graph/io/read_file.h"
#include "tools/gcc-graph/io/write_file.h"
#include "tools/gcc-graph/support/fail.h"

namespace gcg::tools {
namespace {

/// The device's name in the form that --device takes on its host.
std::string here(const FleetDevice& device) {
  if (device.kind == FleetDevice::Kind::cuda) return concat("cuda:", device.ordinal);
  if (!device.cores.empty()) return pool_name(device.cores);
  return device.name.starts_with("cpu:") ? device.name : "cpu";
}

/// Joins the pieces of "NAME" or "NAME=DEVICE" of --devices. Names of pools contain commas, so a piece of only digits
/// and dashes belongs to the previous name.
std::vector<std::string> joined(const std::vector<std::string>& pieces) {
  std::vector<std::string> names;
  for (const std::string& piece : pieces) {
    const bool cores = !piece.empty() && piece.find_first_not_of("0123456789-") == std::string::npos;
    if (cores && !names.empty())
      names.back() += "," + piece;
    else
      names.push_back(piece);
  }
  return names;
}

/// True if some device may run all groups.
bool fits_one_device(const gart::fb::Assembly& assembly) {
  for (uint32_t d = 0; d < assembly.devices()->size(); ++d)
    if (std::all_of(assembly.groups()->begin(), assembly.groups()->end(), [&](const gart::fb::Group* group) {
          const auto support = gart::span_of(group->support());
          return std::find(support.begin(), support.end(), d) != support.end();
        }))
      return true;
  return false;
}

/// True if `place` finds a placement on the fleet.
bool can_be_placed(const gart::ArtifactView& artifact, const gcc_graph::Fleet& fleet) {
  try {
    placing_of(artifact).move_to(fleet);
    return true;
  } catch (const Error&) {
    return false;
  }
}

}  // namespace

/// The ways to run the file although the fleet lacks `device`, as the end of a message.
std::string RunOnFleet::ways_beside(const gart::ArtifactView& file, const gcc_graph::Fleet& fleet, uint32_t device,
                                    const std::string& artifact) const {
  std::string ways;
  const auto add = [&](const std::string& way) { ways += (ways.empty() ? ": " : ", or ") + way; };
  if (can_be_placed(file, fleet))
    add(concat("place the groups again (gcc-graph place ", artifact, " --fleet ", fleet_, " -o FILE)"));
  const gart::fleet::Assembly assembly = gart::fleet::decode_assembly(*file.manifest, assembly_of(file));
  if (gart::fleet::cpu_stands_in(*file.manifest, assembly, device))
    add(concat("choose a substitute (--devices ", assembly.devices[device].name, "=cpu)"));
  return ways.empty() ? ": compile the model for this fleet" : ways;
}

bool RunOnFleet::is_wanted(const std::string& artifact, const InputOptions& inputs) const {
  if (any()) return true;
  if (!inputs.device.empty() || !inputs.target.empty() || !inputs.entry.empty()) return false;
  try {
    const MappedArtifact file(artifact);
    return !file.view().assembly().empty() && !fits_one_device(assembly_of(file.view()));
  } catch (const Error&) {
    return false;  // the runtime will report the error
  }
}

void RunOnFleet::tell_whole(const std::string& artifact, const InputOptions& inputs, const std::string& device) const {
  if (!inputs.device.empty() || !inputs.target.empty()) return;
  const MappedArtifact file(artifact);
  if (file.view().assembly().empty()) return;
  const gart::fb::Assembly& assembly = assembly_of(file.view());
  std::set<std::string> names;
  for (const gart::fb::Group* group : *assembly.groups())
    names.insert(std::string(gart::view_of(assembly.devices()->Get(group->device())->name())));
  std::string list;
  for (const std::string& name : names) list += (list.empty() ? "" : ",") + name;
  std::cerr << printable(concat("remark: the whole model runs on ", device, "; its parts were placed on ", list,
                                ", where --devices ", list, " runs them"))
            << '\n';
}

void RunOnFleet::add_to(CLI::App& c) {
  c.add_option("--fleet", fleet_,
               "F.json: the devices of this machine that stand for those that the model was compiled for, by name");
  c.add_option("--devices", devices_,
               "Comma-separated names of devices that the model was compiled for: only these are used; NAME=DEVICE "
               "uses DEVICE of this machine for NAME")
      ->delimiter(',')
      ->allow_extra_args(false);
  c.add_option("--fetch", fetch_,
               "Comma-separated values to get instead of the outputs: values that cross between parts, or that compile "
               "--keep kept. Repeatable")
      ->allow_extra_args(false);
  c.add_option("--monitor", monitor_, "S.json: write the times of groups on their devices, for place --profile");
  c.add_option("--requests", requests_, "Requests that may run at once on a fleet; 0: two per device")
      ->check(CLI::Range(0, 4096));
  c.add_flag("--dynamic", dynamic_,
             "Each request runs its groups on the devices that would finish them first, not where they are placed");
}

gart::fleet::Program RunOnFleet::load(const std::string& path, const InputOptions& inputs,
                                      const std::vector<gart::fleet::GroupPlace>& placement) const {
  if (!inputs.device.empty()) fail("--device names one device; for a fleet use --devices");
  if (!inputs.target.empty())
    fail("--target chooses the code for one device; each device of a fleet has its own target");
  gart::fleet::LoadOptions options;
  options.verify = inputs.verify;
  options.blocking = inputs.blocking;
  options.threads = inputs.threads;
  options.spin = inputs.spin;
  options.requests = requests_;
  options.dynamic = dynamic_;
  options.placement = placement;
  options.hosts = hosts_;
  bool restricted = false;  // a name without "=" restricts the devices that may be used
  for (const std::string& item : joined(devices_)) {
    const size_t equals = item.find('=');
    options.only.push_back(item.substr(0, equals));
    restricted |= equals == std::string::npos;
    if (equals != std::string::npos) options.devices.push_back({item.substr(0, equals), item.substr(equals + 1)});
  }
  if (!restricted) options.only.clear();
  if (!fleet_.empty()) add_fleet(path, options);
  return value_or_throw(gart::fleet::load(path, options));
}

/// Adds the devices of this host, and in a job those of all hosts. Other devices keep the artifact's description; the
/// runtime fails if it needs one of them.
void RunOnFleet::add_fleet(const std::string& artifact, gart::fleet::LoadOptions& options) const {
  const gcc_graph::Fleet fleet = read_fleet(fleet_);
  if (options.only.empty()) check_fleet(artifact, fleet, options);
  for (const FleetDevice& device : fleet.devices)
    if (device.host.empty() || hosts_ != nullptr) options.devices.push_back({device.name, here(device)});
}

/// Every device that groups are placed on must be in the fleet, or have a substitute.
void RunOnFleet::check_fleet(const std::string& artifact, const gcc_graph::Fleet& fleet,
                             const gart::fleet::LoadOptions& options) const {
  const MappedArtifact file(artifact);
  if (file.view().assembly().empty()) return;  // the runtime will report the error
  const gart::fb::Assembly& assembly = assembly_of(file.view());
  for (const gart::fb::FleetDevice* known : *assembly.devices())
    for (const FleetDevice& device : fleet.devices)
      if (device.name == gart::view_of(known->name()) && device.host != gart::view_of(known->host()))
        fail(fleet_, ": device '", device.name, "' is on host '", device.host,
             "', but the artifact places it on host '", gart::view_of(known->host()),
             "': compile the model for this fleet, or place its groups again");
  std::string present;
  for (const FleetDevice& device : fleet.devices) present += concat(present.empty() ? "'" : ", '", device.name, "'");
  const auto is_named = [](const auto& devices, const std::string& name) {
    return std::any_of(devices.begin(), devices.end(), [&](const auto& device) { return device.name == name; });
  };
  for (const gart::fb::Group* group : *assembly.groups()) {
    const std::string name(gart::view_of(assembly.devices()->Get(group->device())->name()));
    if (is_named(fleet.devices, name) || is_named(options.devices, name)) continue;
    fail("'", gart::view_of(group->name()), "' is placed on device '", name, "', which ", fleet_, " lacks; it has ",
         present, ways_beside(file.view(), fleet, group->device(), artifact));
  }
}

gart::fleet::Request RunOnFleet::request(const gart::fleet::Program& program, const NamedTensors& inputs) const {
  gart::fleet::Request request = value_or_throw(program.new_request());
  const std::vector<std::string> fetched = fetched_from(program);
  const std::vector<std::string_view> names(fetched.begin(), fetched.end());
  value_or_throw(request.fetch(names));
  for (const auto& [name, tensor] : inputs) value_or_throw(request.set_input(name, tensor.view()));
  return request;
}

std::vector<std::string> RunOnFleet::fetched_from(const gart::fleet::Program& program) const {
  std::set<std::string> known;
  for (const gart::TensorInfo& value : program.values()) known.insert(value.name);
  return gcc_graph::split_names(fetch_, known);
}

std::vector<std::string> RunOnFleet::names_of_outputs(const gart::fleet::Program& program) const {
  if (!fetch_.empty()) return fetched_from(program);
  std::vector<std::string> names;
  for (const gart::TensorInfo& output : program.outputs()) names.push_back(output.name);
  return names;
}

gcc_graph::FleetProfile profile_of(const std::string& identity, const gart::fleet::Times& times) {
  gcc_graph::FleetProfile profile;
  profile.artifact = identity;
  profile.run_us = times.run_us;
  profile.run_noise_us = times.run_noise_us;
  for (const gart::fleet::GroupTime& t : times.groups)
    profile.groups.push_back({t.group, t.device, t.operation_us, t.idle_us, t.noise_us, t.begin_us, t.runs, t.crossed});
  return profile;
}

void RunOnFleet::write_monitor(const std::string& artifact, const gart::fleet::Program& program) const {
  if (!is_monitored()) return;
  const gart::fleet::Times times = program.times();
  if (times.groups.empty())
    fail("--monitor ", monitor_, ": no run used all groups; --fetch runs only the groups that its values need");
  write_profile(profile_of(artifact_identity(MappedArtifact(artifact).view()), times));
}

void RunOnFleet::write_profile(const gcc_graph::FleetProfile& profile) const {
  if (monitor_.empty()) return;
  const std::string text = gcc_graph::print_fleet_profile(profile);
  write_file(monitor_, {text.begin(), text.end()});
}

}  // namespace gcg::tools
