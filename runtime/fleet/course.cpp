#include "runtime/fleet/course.h"

#include <algorithm>
#include <utility>

namespace gart::fleet {

Course::Course(const Assembly& assembly)
    : assembly_(assembly),
      left_(new std::atomic<uint32_t>[assembly.groups.size()]),
      expected_(assembly.devices.size()),
      held_(assembly.groups.size()),
      calls_(assembly.groups.size()),
      final_(assembly.groups.size()) {}

void Course::follow(std::shared_ptr<const Placement> placement, const Route& route, std::span<const int64_t> sizes) {
  if (placement != placement_ || moved_) {
    device_ = placement->device;
    lane_ = placement->lane;
    us_ = placement->us;
  }
  placement_ = std::move(placement);
  moved_ = false;
  sizes_.assign(sizes.begin(), sizes.end());
  for (uint32_t group = 0; group < assembly_.groups.size(); ++group)
    left_[group].store(route.calls_of_group[group], std::memory_order_relaxed);
  if (!us_.empty()) {
    std::fill(held_.begin(), held_.end(), 0);
    for (const uint32_t call : route.calls)
      for (const uint32_t value : assembly_.calls[call].outputs) held_[assembly_.calls[call].group] += sizes_[value];
  }
  if (!chooses()) return;
  if (&route != route_)
    for (auto& calls : calls_) calls.clear();
  for (const uint32_t call : route.calls)
    if (&route != route_) calls_[assembly_.calls[call].group].push_back(call);
  route_ = &route;
  std::fill(final_.begin(), final_.end(), uint8_t{0});
  values_.reset(assembly_.values.size(), assembly_.devices.size());
}

Lane* Course::lane_on(uint32_t device, uint32_t call) const {
  return placement_->chooser->lane(assembly_.calls[call].group, device);
}

void Course::count(uint32_t group, int sign) noexcept {
  lane_[group]->queue().expect(expected_[device_[group]], sign, us_[group]);
}

void Course::begin(uint64_t order) noexcept {
  order_ = order;
  for (Expected& of : expected_) of.order = order;
  for (uint32_t group = 0; group < us_.size(); ++group) {
    if (left_[group].load(std::memory_order_relaxed) == 0) continue;
    count(group, 1);
    lane_[group]->queue().hold(held_[group]);
  }
}

void Course::end_call(uint32_t call) noexcept {
  if (us_.empty()) return;
  const uint32_t group = assembly_.calls[call].group;
  if (left_[group].fetch_sub(1, std::memory_order_relaxed) == 1) count(group, -1);
}

void Course::end() noexcept {
  for (uint32_t group = 0; group < us_.size(); ++group) {
    lane_[group]->queue().hold(-std::exchange(held_[group], 0));
    if (left_[group].exchange(0, std::memory_order_relaxed) > 0) count(group, -1);
  }
}

void Course::set_size(uint32_t value, int64_t bytes) {
  const int64_t more = bytes - std::exchange(sizes_[value], bytes);
  values_.grow(value, more);
  const uint32_t group = assembly_.calls[assembly_.values[value].maker].group;
  held_[group] += more;
  lane_[group]->queue().hold(more);
}

/// Sums what the request's final groups have left to do on each device, and its values there.
void Course::sum_up() {
  ahead_.assign(assembly_.devices.size(), 0);
  held_on_.assign(assembly_.devices.size(), 0);
  groups_.assign(assembly_.devices.size(), 0);
  for (uint32_t group = 0; group < us_.size(); ++group) {
    held_on_[device_[group]] += held_[group];
    if (final_[group] == 0 || left_[group].load(std::memory_order_relaxed) == 0) continue;
    ahead_[device_[group]] += us_[group];
    ++groups_[device_[group]];
  }
}

bool Course::choose(uint32_t group, std::span<const uint8_t> reached) {
  sum_up();
  const GroupDevice choice = placement_->chooser->choose_now(
      group, {order_, device_, sizes_, values_, ahead_, groups_, held_on_, reached, calls_[group]});
  const bool moves = choice.device != device_[group];
  if (moves) {
    count(group, -1);
    lane_[group]->queue().hold(-held_[group]);
    device_[group] = choice.device;
    lane_[group] = choice.lane;
    us_[group] = choice.us;
    count(group, 1);
    lane_[group]->queue().hold(held_[group]);
    moved_ = true;
  }
  final_[group] = 1;
  for (const uint32_t call : calls_[group])
    for (const auto* list : {&assembly_.calls[call].inputs, &assembly_.calls[call].outputs})
      for (const uint32_t value : *list) values_.add(value, choice.device, sizes_[value]);
  return moves;
}

}  // namespace gart::fleet
