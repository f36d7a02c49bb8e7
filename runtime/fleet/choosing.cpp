// Chooses devices of groups while requests run: for a whole request when it begins, and for each group when it may
// begin.
#include <algorithm>
#include <utility>

#include "runtime/errors.h"
#include "runtime/fleet/fleet.h"

namespace gart::fleet::detail {
namespace {

constexpr double kHandOverUs = 2;  // minimum time to hand a call over to another device, in microseconds

}  // namespace

void FleetState::look_up_times() {
  for (auto& placement : chosen_) placement = nullptr;
  for (uint32_t group = 0; group < places_.size(); ++group)
    for (uint32_t device = 0; device < lanes_.size(); ++device) times_[at(group, device)] = time_of(group, device);
}

/// Sums the bytes of weights on each device.
void FleetState::sum_weights() {
  weights_.clear();
  for (uint32_t device = 0; device < lanes_.size(); ++device) weights_.push_back(weights_on(device));
}

/// Places group by group, in the order of their first calls. Requests whose groups get the same devices share a
/// placement.
std::shared_ptr<const Placement> FleetState::place_by_load(std::span<const int64_t> sizes) {
  if (requests_++ % kTimesKept == 0) look_up_times();
  for (uint32_t device = 0; device < lanes_.size(); ++device)
    if (lanes_[device] != nullptr) free_at_[device] = double(lanes_[device]->queue().ahead_us());
  for (double& end : ends_) end = -1;
  value_bytes_.reset(assembly.values.size(), lanes_.size());
  for (const PartCall& call : assembly.calls)
    if (ends_[call.group] < 0) plan(call.group, sizes);
  for (const auto& placement : chosen_)
    if (placement != nullptr && placement->device == places_) return placement;
  return chosen_[++placements_made_ % chosen_.size()] = make_placement();
}

/// The device's memory in use if the request also runs the group there: the weights of all programs, the request's
/// values there, and the group's arena. No value is released before the request ends.
int64_t FleetState::bytes_with(const Values& of, uint32_t device) const {
  int64_t bytes = weights_[device] + lanes_[device]->weights_of_others() + of.before.on(device) +
                  int64_t(assembly.groups[of.group].peak_bytes);
  std::vector<uint8_t> counted(assembly.values.size());
  for_each_value(of, [&](uint32_t value) {
    if (!of.before.has(value, device) && counted[value] == 0) bytes += of.sizes[value];
    counted[value] = 1;
  });
  return bytes;
}

/// False if the device's memory cannot hold the group's values. Sets whether values of running requests leave no room.
bool FleetState::may_hold(const Values& of, uint32_t device, Candidate& as) const {
  const int64_t memory = memory_of(device);
  if (memory == 0 || of.sizes.empty()) return true;
  const int64_t bytes = bytes_with(of, device), own = of.held.empty() ? 0 : of.held[device];
  as.lacks = bytes + lanes_[device]->queue().held_bytes() - own > memory;
  return bytes <= memory;
}

/// The best device for a group among those that can hold its values. `request`: null: the request begins.
std::pair<uint32_t, Candidate> FleetState::best_device(const Values& of, const RequestProgress* request) const {
  uint32_t best = kNone;
  Candidate of_best;
  bool is_too_large = false;
  for (uint32_t device = 0; device < lanes_.size(); ++device) {
    if (!may_run(of.group, device) || lanes_[device]->is_lost()) continue;
    if (request != nullptr && request->reached[device] == 0) continue;
    Candidate c =
        request == nullptr ? planned_candidate(of.group, device) : current_candidate(of.group, device, *request);
    if (!may_hold(of, device, c))
      is_too_large = true;
    else if (best == kNone || is_better(c, of_best))
      best = device, of_best = c;
  }
  if (best == kNone && is_too_large) fail_too_small(of);
  const uint32_t before = places_[of.group];
  if (best == kNone) fail_lost(of.group, before, lanes_[before]->loss().message);
  return {best, of_best};
}

/// Estimates the end of a group of the request that begins.
Candidate FleetState::planned_candidate(uint32_t group, uint32_t device) const {
  const Lane& lane = *lanes_[device];
  Candidate c{lane.queue().groups() >= most_waiting_, free_at_[device], 0, times_[at(group, device)]};
  for (const uint32_t value : assembly.calls[calls_of_[group].front()].inputs) {
    if (assembly.values[value].maker == kNone) continue;
    const uint32_t maker = assembly.calls[assembly.values[value].maker].group;
    c.arrival = std::max(c.arrival, ends_[maker] + (places_[maker] == device ? 0 : kHandOverUs));
  }
  return c;
}

/// Chooses the device of a group of the request that begins.
void FleetState::plan(uint32_t group, std::span<const int64_t> sizes) {
  const Values of{group, calls_of_[group], sizes, value_bytes_, {}};
  const auto [best, candidate] = best_device(of, nullptr);
  places_[group] = best;
  if (!sizes.empty()) for_each_value(of, [&](uint32_t value) { value_bytes_.add(value, best, sizes[value]); });
  ends_[group] = free_at_[best] = std::max(candidate.free_at, candidate.arrival) + candidate.us;
}

/// Estimates the end of a group that may begin. Only the work of older requests, and that of the request's own groups
/// that could begin before, comes first.
Candidate FleetState::current_candidate(uint32_t group, uint32_t device, const RequestProgress& request) const {
  const Ahead older = lanes_[device]->queue().ahead_of(request.order);
  Candidate c{older.groups + request.groups[device] >= most_waiting_, double(older.us + request.ahead[device]), 0,
              times_[at(group, device)]};
  for (const uint32_t call : request.calls)
    for (const uint32_t value : assembly.calls[call].inputs) {
      const uint32_t maker = assembly.values[value].maker;
      if (maker != kNone && request.device[assembly.calls[maker].group] != device) c.arrival = kHandOverUs;
    }
  return c;
}

/// A group stays where it was planned if it can begin there at once.
GroupDevice FleetState::choose_now(uint32_t group, const RequestProgress& request) {
  const std::lock_guard lock(mutex_);
  const Values of{group, request.calls, request.sizes, request.values, request.held};
  uint32_t chosen = request.device[group];
  Candidate planned = current_candidate(group, chosen, request);
  const bool stays = request.reached[chosen] != 0 && planned.free_at == 0 && !lanes_[chosen]->is_lost() &&
                     may_hold(of, chosen, planned) && !planned.lacks;
  if (!stays) chosen = best_device(of, &request).first;
  places_[group] = chosen;
  return {chosen, lanes_[chosen].get(), int64_t(times_[at(group, chosen)])};
}

void FleetState::fail_too_small(const Values& of) const {
  std::string devices;
  for (uint32_t device = 0; device < lanes_.size(); ++device)
    if (may_run(of.group, device) && !lanes_[device]->is_lost())
      devices += text(devices.empty() ? "'" : ", '", assembly.devices[device].name, "' has ", memory_of(device),
                      " bytes, ", bytes_with(of, device), " are needed");
  fail(ErrorCode::out_of_memory, "group '", assembly.groups[of.group].name,
       "' fits on no device with these inputs: ", devices);
}

}  // namespace gart::fleet::detail
