#include "runtime/fleet/fleet.h"

#include <algorithm>

#include "runtime/errors.h"

namespace gart::fleet::detail {
namespace {

constexpr size_t kMaxRoutes = 64;  // of what is fetched; more are found anew each time

std::vector<TensorInfo> infos_of(const Assembly& assembly, const std::vector<uint32_t>& values) {
  std::vector<TensorInfo> infos;
  for (const uint32_t value : values) infos.push_back(assembly.values[value].info);
  return infos;
}

std::vector<TensorInfo> all_infos(const Assembly& assembly) {
  std::vector<TensorInfo> infos;
  for (const Value& value : assembly.values) infos.push_back(value.info);
  return infos;
}

}  // namespace

FleetState::FleetState(Assembly model, std::unique_ptr<Engines> device_engines, std::vector<uint32_t> places,
                       int requests, bool monitored)
    : assembly(std::move(model)),
      inputs(infos_of(assembly, assembly.inputs)),
      outputs(infos_of(assembly, assembly.outputs)),
      values(all_infos(assembly)),
      gate(requests),
      monitor(assembly.groups.size(), assembly.devices.size(), monitored),
      engines_(std::move(device_engines)),
      places_(std::move(places)),
      lanes_(assembly.devices.size()) {
  for (uint32_t device = 0; device < lanes_.size(); ++device)
    if (!parts_on(device).empty()) open(device);
  publish();
}

FleetState::~FleetState() {
  for (const auto& lane : lanes_)
    if (lane != nullptr) lane->end();
}

std::vector<uint32_t> FleetState::parts_on(uint32_t device) const {
  std::vector<uint32_t> parts;
  for (const Call& call : assembly.calls)
    if (places_[call.group] == device) parts.push_back(call.entry);
  std::sort(parts.begin(), parts.end());
  parts.erase(std::unique(parts.begin(), parts.end()), parts.end());
  return parts;
}

void FleetState::open(uint32_t device) {
  const std::vector<uint32_t> parts = parts_on(device);
  if (lanes_[device] != nullptr) return engines_->add(lanes_[device]->engine(), parts);
  lanes_[device] = std::make_unique<Lane>(assembly.devices[device].name, engines_->open(device, parts));
}

void FleetState::publish() {
  auto placement = std::make_shared<Placement>();
  placement->device = places_;
  for (const uint32_t device : places_) {
    placement->lane.push_back(lanes_[device].get());
    placement->has_spaces = placement->has_spaces || lanes_[device]->engine().space() != nullptr;
  }
  placement_ = std::move(placement);
}

/// Microseconds of a run that the device works, with group `with` on it, by what was measured or else predicted.
double FleetState::load_of(uint32_t device, uint32_t with) const {
  double load = 0;
  for (uint32_t group = 0; group < places_.size(); ++group) {
    if (group != with && places_[group] != device) continue;
    const Group& of = assembly.groups[group];
    const Samples measured = monitor.of(group, device);
    const auto at = size_t(std::find(of.support.begin(), of.support.end(), device) - of.support.begin());
    load += measured.count() > 0 ? measured.operation().median : at < of.predicted.size() ? of.predicted[at] : 0;
  }
  return load;
}

bool FleetState::has_room(uint32_t device, uint32_t with) const {
  const uint64_t memory = assembly.devices[device].memory;
  if (memory == 0) return true;
  uint64_t weights = 0, peak = 0;
  for (uint32_t group = 0; group < places_.size(); ++group) {
    if (group != with && places_[group] != device) continue;
    weights += assembly.groups[group].weight_bytes;
    peak = std::max(peak, assembly.groups[group].peak_bytes);
  }
  return weights + peak <= memory;
}

/// On the device that has the least to do with it.
void FleetState::place_anew(uint32_t group, const Error& loss) {
  std::vector<std::pair<double, uint32_t>> devices;
  for (const uint32_t device : assembly.groups[group].support) {
    if (lanes_[device] != nullptr && lanes_[device]->is_lost()) continue;
    if (has_room(device, group)) devices.emplace_back(load_of(device, group), device);
  }
  std::sort(devices.begin(), devices.end());
  const uint32_t before = places_[group];
  std::string reasons;
  for (const auto& [load, device] : devices) {
    try {
      places_[group] = device;
      return open(device);
    } catch (const Failure& failure) {
      places_[group] = before;
      reasons += text("; ", failure.error.message);
    }
  }
  fail(ErrorCode::device_lost, "device '", assembly.devices[before].name,
       "' is lost, and no other device supports its group '", assembly.groups[group].name,
       "' and has room for it: ", loss.message, reasons);
}

std::shared_ptr<const Placement> FleetState::placement() {
  const std::lock_guard lock(mutex_);
  bool moved = false;
  for (uint32_t group = 0; group < places_.size(); ++group) {
    const Lane* lane = lanes_[places_[group]].get();
    if (lane == nullptr || !lane->is_lost()) continue;
    place_anew(group, lane->loss());
    moved = true;
  }
  if (moved) publish();
  return placement_;
}

std::shared_ptr<const Route> FleetState::route(const std::vector<uint32_t>& wanted) {
  const std::lock_guard lock(mutex_);
  if (const auto found = routes_.find(wanted); found != routes_.end()) return found->second;
  auto route = std::make_shared<const Route>(find_route(assembly, wanted));
  if (routes_.size() < kMaxRoutes) routes_.emplace(wanted, route);
  return route;
}

DeviceInfo FleetState::device(uint32_t index) {
  const std::lock_guard lock(mutex_);
  DeviceInfo info;
  if (lanes_[index] != nullptr) {
    info = engines_->describe(lanes_[index]->engine());
    info.lost = lanes_[index]->is_lost();
  }
  info.name = assembly.devices[index].name;
  return info;
}

OpenRequest::OpenRequest(std::shared_ptr<FleetState> state)
    : fleet(std::move(state)), run({fleet->assembly, fleet->gate, fleet->monitor}) {
  run.set_route(fleet->route(fleet->assembly.outputs));
}

}  // namespace gart::fleet::detail
