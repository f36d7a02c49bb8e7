#include "runtime/fleet/fleet.h"

#include <algorithm>

#include "runtime/errors.h"

namespace gart::fleet::detail {
namespace {

// Number of sets of fetched values whose routes are kept; other routes are computed again each time.
constexpr size_t kMaxRoutes = 64;

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

/// Releases a lock while this object lives, for slow work.
class Unlocked {
 public:
  explicit Unlocked(std::unique_lock<std::mutex>& lock) : lock_(lock) { lock.unlock(); }
  ~Unlocked() { lock_.lock(); }
  Unlocked(const Unlocked&) = delete;
  Unlocked& operator=(const Unlocked&) = delete;

 private:
  std::unique_lock<std::mutex>& lock_;
};

}  // namespace

FleetState::FleetState(Assembly model, std::unique_ptr<Engines> device_engines, std::vector<uint32_t> places,
                       int requests, bool monitored, std::vector<uint8_t> choices, bool waits,
                       std::shared_ptr<DeviceQueues> shared)
    : assembly(std::move(model)),
      inputs(infos_of(assembly, assembly.inputs)),
      outputs(infos_of(assembly, assembly.outputs)),
      values(all_infos(assembly)),
      gate(requests, waits),
      monitor(assembly.groups.size(), assembly.devices.size(), monitored),
      shares_(shared != nullptr),
      queues_(shares_ ? std::move(shared) : std::make_shared<DeviceQueues>()),
      engines_(std::move(device_engines)),
      places_(std::move(places)),
      lanes_(assembly.devices.size()),
      choices_(std::move(choices)),
      most_waiting_(std::max(1, requests / int(lanes_.size())) * int(places_.size())),
      times_(choices_.size()),
      free_at_(lanes_.size()),
      ends_(places_.size()),
      calls_of_(places_.size()) {
  for (uint32_t call = 0; call < assembly.calls.size(); ++call) calls_of_[assembly.calls[call].group].push_back(call);
  std::unique_lock lock(mutex_);
  for (uint32_t device = 0; device < lanes_.size(); ++device) {
    if (chooses()) keep_what_fits(device);
    if (!parts_on(device).empty()) chooses() ? try_open(device, lock) : open(device, lock);
  }
  chooses() ? sum_weights() : publish();
}

bool FleetState::may_run(uint32_t group, uint32_t device) const {
  return chooses() ? choices_[at(group, device)] != 0 : places_[group] == device;
}

std::vector<uint32_t> FleetState::parts_on(uint32_t device) const {
  std::vector<uint32_t> parts;
  for (const PartCall& call : assembly.calls)
    if (may_run(call.group, device)) parts.push_back(call.entry);
  std::sort(parts.begin(), parts.end());
  parts.erase(std::unique(parts.begin(), parts.end()), parts.end());
  return parts;
}

void FleetState::open(uint32_t device, std::unique_lock<std::mutex>& lock) {
  const std::vector<uint32_t> parts = parts_on(device);
  const int64_t weights = weights_on(device);
  Lane* const known = lanes_[device].get();
  std::unique_ptr<Lane> opened;
  {
    const Unlocked unlocked(lock);
    if (known != nullptr) return add_parts(*known, parts, weights);
    opened = make_lane(device, parts);
    opened->set_weights(weights);
  }
  lanes_[device] = std::move(opened);
}

void FleetState::add_parts(Lane& lane, std::span<const uint32_t> parts, int64_t weights) const {
  const int64_t before = lane.weight_bytes();
  lane.set_weights(weights);
  try {
    engines_->add(lane.engine(), parts);
  } catch (...) {
    lane.set_weights(before);
    throw;
  }
}

std::unique_ptr<Lane> FleetState::make_lane(uint32_t device, std::span<const uint32_t> parts) const {
  std::unique_ptr<Engine> engine = engines_->open(device, parts);
  std::string here = engines_->describe(*engine).device;
  const Space* const space = engine->space();
  if (!here.empty() && space != nullptr && here != space->name()) here = text(space->name(), " ", here);
  return std::make_unique<Lane>(assembly.devices[device].name, std::move(engine), queues_->of(here));
}

/// Opens a device. If that fails, no group may choose it; throws if a group has no other choice.
void FleetState::try_open(uint32_t device, std::unique_lock<std::mutex>& lock) {
  try {
    open(device, lock);
  } catch (...) {
    for (uint32_t group = 0; group < places_.size(); ++group) {
      choices_[at(group, device)] = 0;
      bool is_left = false;
      for (uint32_t other = 0; other < lanes_.size(); ++other) is_left = is_left || may_run(group, other);
      if (!is_left) throw;
    }
  }
}

/// Removes choices whose weights do not fit. A device holds the weights of all groups that may choose it. Groups that
/// the file places on the device come first. The other groups get half of the remaining memory, because values need the
/// rest.
void FleetState::keep_what_fits(uint32_t device) {
  const uint64_t memory = assembly.devices[device].memory;
  uint64_t weights = 0, peak = 0, most = memory;
  for (const bool placed : {true, false}) {
    if (!placed) most = weights + peak + (memory - std::min(memory, weights + peak)) / 2;
    for (uint32_t group = 0; group < places_.size() && memory > 0; ++group) {
      if ((places_[group] == device) != placed || !may_run(group, device)) continue;
      const Group& of = assembly.groups[group];
      const uint64_t more = weights + of.weight_bytes, highest = std::max(peak, of.peak_bytes);
      if (placed || more + highest <= most)
        weights = more, peak = highest;
      else
        choices_[at(group, device)] = 0;
    }
  }
}

std::shared_ptr<Placement> FleetState::make_placement() {
  auto placement = std::make_shared<Placement>();
  placement->device = places_;
  for (const uint32_t device : places_) {
    placement->lane.push_back(lanes_[device].get());
    placement->has_spaces = placement->has_spaces || lanes_[device]->engine().space() != nullptr;
  }
  for (const auto& lane : lanes_)
    if (chooses() && lane != nullptr && lane->engine().space() != nullptr) placement->has_spaces = true;
  if (chooses()) placement->chooser = this;
  if (chooses() || shares_)
    for (uint32_t group = 0; group < places_.size(); ++group)
      placement->us.push_back(int64_t(chooses() ? times_[at(group, places_[group])] : time_of(group, places_[group])));
  return placement;
}

void FleetState::publish() { placement_ = make_placement(); }

/// Microseconds of a run of the group: measured, or else predicted.
double FleetState::time_of(uint32_t group, uint32_t device) const {
  for (const bool crossed : {false, true})
    if (const Samples measured = monitor.of(group, device, crossed); measured.count() > 0)
      return measured.operation().median;
  const Group& of = assembly.groups[group];
  const auto at = size_t(std::find(of.support.begin(), of.support.end(), device) - of.support.begin());
  return at < of.predicted.size() ? of.predicted[at] : 0;
}

/// Microseconds that the device works in a run, if group `with` is on it.
double FleetState::load_of(uint32_t device, uint32_t with) const {
  double load = 0;
  for (uint32_t group = 0; group < places_.size(); ++group)
    if (group == with || places_[group] == device) load += time_of(group, device);
  return load;
}

/// The device's bytes for weights and values: the file's limit or the manager's, whichever is smaller; 0: no limit.
int64_t FleetState::memory_of(uint32_t device) const {
  const auto memory = int64_t(assembly.devices[device].memory);
  const int64_t here = lanes_[device] != nullptr ? lanes_[device]->queue().memory() : 0;
  return memory == 0 || here == 0 ? std::max(memory, here) : std::min(memory, here);
}

/// Bytes of weights of the groups that may run on the device.
int64_t FleetState::weights_on(uint32_t device) const {
  int64_t bytes = 0;
  for (uint32_t group = 0; group < places_.size(); ++group)
    if (may_run(group, device)) bytes += int64_t(assembly.groups[group].weight_bytes);
  return bytes;
}

bool FleetState::has_room(uint32_t device, uint32_t with) const {
  const auto memory = uint64_t(memory_of(device));
  if (memory == 0) return true;
  uint64_t weights = lanes_[device] != nullptr ? uint64_t(lanes_[device]->weights_of_others()) : 0, peak = 0;
  for (uint32_t group = 0; group < places_.size(); ++group) {
    if (group != with && places_[group] != device) continue;
    weights += assembly.groups[group].weight_bytes;
    peak = std::max(peak, assembly.groups[group].peak_bytes);
  }
  return weights + peak <= memory;
}

bool FleetState::is_lost(uint32_t group) const {
  const Lane* lane = lanes_[places_[group]].get();
  return lane != nullptr && lane->is_lost();
}

/// Moves the group to the device that has the least work with it.
void FleetState::place_anew(uint32_t group, std::unique_lock<std::mutex>& lock) {
  std::vector<std::pair<double, uint32_t>> devices;
  for (const uint32_t device : assembly.groups[group].support) {
    if (lanes_[device] != nullptr && lanes_[device]->is_lost()) continue;
    if (has_room(device, group)) devices.emplace_back(load_of(device, group), device);
  }
  std::sort(devices.begin(), devices.end());
  const uint32_t before = places_[group];
  std::string reasons = lanes_[before]->loss().message;
  for (const auto& [load, device] : devices) {
    try {
      places_[group] = device;
      return open(device, lock);
    } catch (...) {
      places_[group] = before;
      reasons += "; " + caught_error().message;
    }
  }
  fail_lost(group, before, reasons);
}

void FleetState::fail_lost(uint32_t group, uint32_t device, const std::string& reasons) const {
  fail(ErrorCode::device_lost, "device '", assembly.devices[device].name,
       "' is lost, and no other device supports its group '", assembly.groups[group].name,
       "' and has room for it: ", reasons);
}

std::shared_ptr<const Placement> FleetState::placement(std::span<const int64_t> sizes) {
  std::unique_lock lock(mutex_);
  if (chooses()) return place_by_load(sizes);
  if (shares_ && requests_++ % kTimesKept == 0) publish();
  const auto& lanes = placement_->lane;
  if (std::none_of(lanes.begin(), lanes.end(), [](const Lane* lane) { return lane->is_lost(); })) return placement_;
  lock.unlock();
  const std::lock_guard moving(moving_);
  lock.lock();
  for (uint32_t group = 0; group < places_.size(); ++group)
    if (is_lost(group)) place_anew(group, lock);
  publish();
  return placement_;
}

std::vector<uint32_t> FleetState::places() const {
  const std::lock_guard lock(mutex_);
  return chooses() ? places_ : placement_->device;
}

std::shared_ptr<const Route> FleetState::route(const std::vector<uint32_t>& requested) {
  const std::lock_guard lock(mutex_);
  if (const auto found = routes_.find(requested); found != routes_.end()) return found->second;
  auto route = std::make_shared<const Route>(find_route(assembly, requested));
  if (routes_.size() < kMaxRoutes) routes_.emplace(requested, route);
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
