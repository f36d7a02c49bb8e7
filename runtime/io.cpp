#include "runtime/io.h"

#include <algorithm>
#include <cstring>

#include "runtime/errors.h"

namespace gart {
namespace {

bool is_named(const char* device, const char* name) { return device != nullptr && std::string_view(device) == name; }

Result<void> check_device(const char* what, const std::string& name, const char* device, const Site& site) {
  if (is_named(device, "cpu") || is_named(device, site.device)) return {};
  return error(ErrorCode::invalid_argument, what, " '", name, "' is on device '", device == nullptr ? "(null)" : device,
               "', but this program runs on '", site.device, "'");
}

Result<void> check_dtype(const char* what, const TensorInfo& info, DType dtype) {
  if (dtype == info.dtype) return {};
  return error(ErrorCode::invalid_argument, what, " '", info.name, "' must be ", name_of(info.dtype), ", but is ",
               name_of(dtype));
}

Result<void> check_index(const char* what, size_t index, size_t count) {
  if (index < count) return {};
  return error(ErrorCode::invalid_argument, "there is no ", what, " ", index, ": the model has ", count);
}

bool usable(const void* data, DType dtype, size_t alignment) {
  if (data == nullptr || alignment == 0) return false;
  return reinterpret_cast<uintptr_t>(data) % (alignment == kElementAlignment ? size_of(dtype) : alignment) == 0;
}

template <class Slot>
std::vector<Slot> slots_for(size_t count, const Site& site) {
  std::vector<Slot> slots(count);
  for (Slot& slot : slots) slot.pinned = Block(site.pinned), slot.local = site.memory == nullptr;
  return slots;
}

}  // namespace

Inputs::Inputs(std::span<const TensorInfo> infos, const Site& site)
    : site_(site), infos_(infos), slots_(slots_for<Slot>(infos.size(), site)) {
  for (Slot& slot : slots_) slot.staging = Block(site.memory);
}

Result<void> Inputs::set(size_t index, const TensorView& tensor) {
  GART_TRY(check_index("input", index, slots_.size()));
  const TensorInfo& info = infos_[index];
  GART_TRY(check_dtype("input", info, tensor.dtype));
  GART_TRY(check_device("input", info.name, tensor.device, site_));
  if (tensor.shape.rank() != info.dims.size()) {
    return error(ErrorCode::invalid_argument, "input '", info.name, "' has rank ", tensor.shape.rank(),
                 ", but must be ", info.text());
  }
  const int64_t elements = tensor.shape.elements();
  if (elements < 0 || elements > (INT64_MAX >> 4)) {
    return error(ErrorCode::invalid_argument, "input '", info.name, "' has the impossible shape ", tensor.shape.text());
  }
  if (tensor.data == nullptr && elements > 0) {
    return error(ErrorCode::invalid_argument, "input '", info.name, "' has ", elements,
                 " elements, but its data pointer is null");
  }
  slots_[index].view = tensor;
  slots_[index].local = is_named(tensor.device, site_.device);
  slots_[index].set = true;
  return {};
}

void Inputs::forget() {
  for (Slot& slot : slots_) slot.view = {}, slot.set = false;
}

Result<void> Inputs::check_complete() const {
  for (size_t i = 0; i < slots_.size(); ++i) {
    if (!slots_[i].set) return error(ErrorCode::invalid_argument, "input ", i, " '", infos_[i].name, "' is not set");
  }
  return {};
}

bool Inputs::matches(std::span<const Shape> shapes) const {
  for (size_t i = 0; i < slots_.size(); ++i) {
    if (!(slots_[i].view.shape == shapes[i])) return false;
  }
  return true;
}

std::vector<Shape> Inputs::shapes() const {
  std::vector<Shape> shapes;
  for (const Slot& slot : slots_) shapes.push_back(slot.view.shape);
  return shapes;
}

void Inputs::stage() {
  for (Slot& slot : slots_) {
    slot.transfer = {};
    if (slot.local && usable(slot.view.data, slot.view.dtype, alignment_)) {
      slot.address = const_cast<void*>(slot.view.data);  // kernels only read it: the verifier forbids writes to inputs
      continue;
    }
    const size_t bytes = static_cast<size_t>(slot.view.shape.elements()) * size_of(slot.view.dtype);
    slot.staging.reserve(bytes);
    slot.address = slot.staging.data();
    if (bytes == 0) continue;
    if (site_.memory == nullptr) {
      std::memcpy(slot.staging.data(), slot.view.data, bytes);
    } else {
      stage_on_device(slot, bytes);
    }
  }
}

void Inputs::stage_on_device(Slot& slot, size_t bytes) {
  if (slot.local) {
    slot.transfer = {Transfer::Kind::on_device, slot.address, slot.view.data, int64_t(bytes)};
    return;
  }
  transfer_from_host(slot, bytes);
  std::memcpy(slot.pinned.data(), slot.view.data, bytes);
}

void Inputs::transfer_from_host(Slot& slot, size_t bytes) {
  slot.pinned.reserve(bytes);
  slot.transfer = {Transfer::Kind::to_device, slot.address, slot.pinned.data(), int64_t(bytes)};
}

void Inputs::expect(std::span<const Shape> shapes) {
  for (size_t i = 0; i < slots_.size(); ++i) {
    Slot& slot = slots_[i];
    const size_t bytes = static_cast<size_t>(shapes[i].elements()) * size_of(infos_[i].dtype);
    slot.transfer = {};
    slot.staging.reserve(bytes);
    slot.address = slot.staging.data();
    if (bytes > 0) transfer_from_host(slot, bytes);
  }
}

bool Inputs::any_on_host() const {
  return std::any_of(slots_.begin(), slots_.end(), [](const Slot& slot) { return slot.set && !slot.local; });
}

const void* Inputs::host_data(size_t index) const {
  return slots_[index].transfer.kind == Transfer::Kind::to_device ? slots_[index].pinned.data() : nullptr;
}

Outputs::Outputs(std::span<const TensorInfo> infos, const Site& site)
    : site_(site), infos_(infos), slots_(slots_for<Slot>(infos.size(), site)) {
  for (Slot& slot : slots_) slot.own = Block(site.memory);
}

Result<void> Outputs::set(size_t index, const OutputBuffer& buffer) {
  GART_TRY(check_index("output", index, slots_.size()));
  const TensorInfo& info = infos_[index];
  GART_TRY(check_device("output", info.name, buffer.device, site_));
  if (buffer.data == nullptr && buffer.bytes == 0) {
    slots_[index].user = {};
    slots_[index].local = is_named(buffer.device, site_.device);
    return {};
  }
  GART_TRY(check_dtype("output", info, buffer.dtype));
  if (buffer.data == nullptr) {
    return error(ErrorCode::invalid_argument, "output '", info.name, "': the buffer has ", buffer.bytes,
                 " bytes, but its data pointer is null");
  }
  slots_[index].user = buffer;
  slots_[index].local = is_named(buffer.device, site_.device);
  return {};
}

void Outputs::forget() {
  for (Slot& slot : slots_) slot.user = {}, slot.local = site_.memory == nullptr;
}

bool Outputs::any_on_host() const {
  return std::any_of(slots_.begin(), slots_.end(), [](const Slot& slot) { return !slot.local; });
}

Result<void*> Outputs::place(size_t index, int64_t bytes) {
  Slot& slot = slots_[index];
  slot.bytes = bytes;
  if (slot.user.data != nullptr && static_cast<uint64_t>(bytes) > slot.user.bytes) {
    return error(ErrorCode::invalid_argument, "output '", infos_[index].name, "' needs ", bytes,
                 " bytes, but its buffer has ", slot.user.bytes);
  }
  slot.transfer = {};
  if (slot.local && usable(slot.user.data, slot.user.dtype, alignment_)) {
    slot.address = slot.user.data;
    return slot.address;
  }
  slot.own.reserve(static_cast<size_t>(bytes));
  slot.address = slot.own.data();
  if (site_.memory != nullptr) place_on_device(slot);
  return slot.address;
}

void Outputs::place_on_device(Slot& slot) {
  if (!slot.local) slot.pinned.reserve(static_cast<size_t>(slot.bytes));
  if (slot.bytes == 0) return;
  if (!slot.local) {
    slot.transfer = {Transfer::Kind::to_host, slot.pinned.data(), slot.address, slot.bytes};
  } else if (slot.user.data != nullptr) {
    slot.transfer = {Transfer::Kind::on_device, slot.user.data, slot.address, slot.bytes};
  }
}

void Outputs::deliver() {
  for (Slot& slot : slots_) {
    if (slot.user.data == nullptr || slot.user.data == slot.address || slot.bytes == 0) continue;
    if (site_.memory != nullptr && slot.local) continue;  // the transfer took it there
    std::memcpy(slot.user.data, site_.memory == nullptr ? slot.address : slot.pinned.data(), size_t(slot.bytes));
  }
}

const void* Outputs::result(size_t index) const {
  const Slot& slot = slots_[index];
  if (slot.user.data != nullptr) return slot.user.data;
  return slot.local ? slot.address : slot.pinned.data();
}

}  // namespace gart
