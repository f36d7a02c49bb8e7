// The memories in which a request keeps values, and the copies between them.
#include <algorithm>
#include <cstring>

#include "runtime/fleet/request.h"

namespace gart::fleet {

/// Decides in which memories values are kept. The decision holds until calls get other lanes. Called before any value
/// exists.
void RequestState::place_values() {
  if (placed_placement_ != course_.placement() || placed_route_ != route_) {
    placed_placement_ = nullptr;
    for (const uint32_t call : route_->calls) place_outputs(call);
    placed_placement_ = course_.placement();
    placed_route_ = route_;
  }
  if (!placed_placement_->has_spaces) return;
  for (Slot& slot : values_)
    for (Copy& copy : slot.copies) copy.there = false;
}

/// Decides in which memories the outputs of a call are kept: in that of its device, and in those of readers. A reader
/// that may still move gets a place in each memory that it may move to; it fills one of them.
void RequestState::place_outputs(uint32_t index) {
  const std::vector<uint32_t>& requested = route_->requested;
  Space* const own = lane_of(index).engine().space();
  for (const uint32_t value : assembly_.calls[index].outputs) {
    Slot& slot = values_[value];
    slot.copies.clear();
    slot.on_host = true;
    if (own == nullptr || !assembly_.values[value].input_bound) continue;  // or its size is not known yet
    bool on_host = std::find(requested.begin(), requested.end(), value) != requested.end();
    std::vector<Space*> spaces = {own};
    const auto add = [&](Space* space) {
      const bool is_near = space != nullptr && space->family() == own->family();
      if (is_near && std::find(spaces.begin(), spaces.end(), space) == spaces.end()) spaces.push_back(space);
      return is_near;
    };
    bool stays = false;
    for (const uint32_t reader : route_->readers[index]) {
      const std::vector<uint32_t>& inputs = assembly_.calls[reader].inputs;
      if (std::find(inputs.begin(), inputs.end(), value) == inputs.end()) continue;
      (add(lane_of(reader).engine().space()) ? stays : on_host) = true;
      for (uint32_t device = 0; course_.chooses() && device < assembly_.devices.size(); ++device)
        if (const Lane* lane = course_.lane_on(device, reader)) add(lane->engine().space());
    }
    slot.on_host = on_host || !stays;
    if (!stays) continue;
    for (Space* space : spaces) slot.copies.emplace_back(*space);
  }
}

/// True if a call on the lane's device can read the value, once it exists.
bool RequestState::can_read(uint32_t value, const Lane& lane) const {
  const Slot& slot = values_[value];
  const Space* const space = lane.engine().space();
  return slot.on_host ||
         std::any_of(slot.copies.begin(), slot.copies.end(), [&](const Copy& copy) { return copy.space == space; });
}

/// Called once a value exists: sets the symbols that are its extents.
void RequestState::bind_value(uint32_t value) {
  if (assembly_.values[value].input_bound && assembly_.carried[value].empty()) return;
  const std::lock_guard lock(run_bound_mutex_);
  for (const uint32_t symbol : assembly_.carried[value])
    slots_.set(symbol, values_[value].view.shape[assembly_.symbols[symbol].axis]);
  if (!assembly_.carried[value].empty()) evaluate_slots("results");
  check_extents(value);
}

/// The value as a call reads it on a device with memory `space`, where it was copied from its maker. Null: the value in
/// host memory.
TensorView RequestState::view_for(uint32_t value, const Space* space) {
  Slot& slot = values_[value];
  TensorView view = slot.view;
  const bool stays = !slot.copies.empty() && slot.copies.front().there;
  for (size_t i = 0; stays && i < slot.copies.size(); ++i) {
    Copy& copy = slot.copies[i];
    if (copy.space != space) continue;
    if (!copy.there) {
      const Copy& first = slot.copies.front();
      copy.block.reserve(size_t(std::max<int64_t>(slot.bytes, 1)));
      if (slot.bytes > 0) copy.space->copy_in(copy.block.data(), *first.space, first.block.data(), size_t(slot.bytes));
      copy.there = true;
    }
    view.data = copy.block.data();
    view.device = space->name();
  }
  return view;
}

/// The buffer that a value is written to; no data if its size is not known yet.
OutputBuffer RequestState::room_for(uint32_t value, const Space* space) {
  Slot& slot = values_[value];
  const DType dtype = assembly_.values[value].info.dtype;
  if (slot.bytes < 0) return {};
  const bool stays = !slot.copies.empty();
  Block& block = stays ? slot.copies.front().block : slot.buffer;
  block.reserve(size_t(std::max<int64_t>(slot.bytes, 1)));
  return {block.data(), block.capacity(), dtype, stays ? space->name() : "cpu"};
}

void RequestState::take(uint32_t value, const TensorView& result, const OutputBuffer& room) {
  Slot& slot = values_[value];
  slot.view = result;
  slot.view.device = "cpu";
  const size_t bytes = size_t(result.shape.elements()) * size_of(result.dtype);
  const bool stays = !slot.copies.empty() && room.data != nullptr;
  if (stays) slot.copies.front().there = true;
  if (stays && !slot.on_host) {
    slot.view.data = nullptr;
  } else if (stays || result.data != room.data) {
    slot.buffer.reserve(std::max<size_t>(bytes, 1));
    slot.view.data = slot.buffer.data();
    if (stays && bytes > 0) slot.copies.front().space->copy_to_host(slot.buffer.data(), result.data, bytes);
    if (!stays && bytes > 0) std::memcpy(slot.buffer.data(), result.data, bytes);
  }
  bind_value(value);
  if (slot.bytes >= 0 || !course_.chooses()) return;
  const std::lock_guard lock(course_.mutex());
  course_.set_size(value, int64_t(bytes));
}

}  // namespace gart::fleet
