#include "runtime/io.h"

#include <algorithm>
#include <cstring>

#include "runtime/errors.h"

namespace gart {
namespace {

constexpr const char* kHost = "cpu";  // name of the host's memory space

bool is_named(const char* device, const char* name) { return device != nullptr && std::string_view(device) == name; }

void check_device(const char* what, const std::string& name, const char* device, const Site& site) {
  if (is_named(device, kHost) || is_named(device, site.space)) return;
  fail(ErrorCode::invalid_argument, what, " '", name, "' is on device '", device == nullptr ? "(null)" : device,
       "', but this program runs on '", site.space, "'");
}

void check_dtype(const char* what, const TensorInfo& info, DType dtype) {
  if (dtype == info.dtype) return;
  fail(ErrorCode::invalid_argument, what, " '", info.name, "' must be ", name_of(info.dtype), ", but is ",
       name_of(dtype));
}

bool usable(const void* data, DType dtype, size_t alignment) {
  if (data == nullptr || alignment == 0) return false;
  return reinterpret_cast<uintptr_t>(data) % (alignment == kElementAlignment ? size_of(dtype) : alignment) == 0;
}

/// Copies an input's elements to `to`. Each string becomes its index in info.strings; -1: it is not in the list.
void copy_elements(const TensorInfo& info, const TensorView& from, void* to) {
  const auto count = static_cast<size_t>(from.shape.elements());
  if (from.dtype != DType::string) {
    std::memcpy(to, from.data, count * size_of(from.dtype));
    return;
  }
  const std::vector<std::string>& known = info.strings;
  for (size_t i = 0; i < count; ++i) {
    const char* element = nullptr;
    std::memcpy(&element, static_cast<const char*>(from.data) + i * sizeof element, sizeof element);
    if (element == nullptr) fail(ErrorCode::invalid_argument, "input '", info.name, "': string ", i, " is null");
    const auto at = std::lower_bound(known.begin(), known.end(), std::string_view(element));
    static_cast<int64_t*>(to)[i] = at == known.end() || *at != element ? -1 : at - known.begin();
  }
}

template <class Slot>
std::vector<Slot> slots_for(size_t count, const Site& site) {
  std::vector<Slot> slots(count);
  for (Slot& slot : slots) slot.pinned = Block(site.pinned), slot.local = is_named(kHost, site.space);
  return slots;
}

}  // namespace

Inputs::Inputs(std::span<const TensorInfo> infos, const Site& site)
    : site_(site), infos_(infos), slots_(slots_for<Slot>(infos.size(), site)) {
  for (Slot& slot : slots_) slot.staging = Block(site.memory);
}

void Inputs::set(size_t index, const TensorView& tensor) {
  const TensorInfo& info = infos_[index];
  check_dtype("input", info, tensor.dtype);
  check_device("input", info.name, tensor.device, site_);
  if (tensor.dtype == DType::string && !is_named(tensor.device, kHost))
    fail(ErrorCode::invalid_argument, "input '", info.name, "' is on device '", tensor.device,
         "', but strings must be in host memory");
  if (tensor.shape.rank() != info.dims.size()) {
    fail(ErrorCode::invalid_argument, "input '", info.name, "' has rank ", tensor.shape.rank(), ", but must be ",
         info.text());
  }
  const int64_t elements = tensor.shape.elements();
  if (elements < 0 || elements > (INT64_MAX >> 4)) {
    fail(ErrorCode::invalid_argument, "input '", info.name, "' has the impossible shape ", tensor.shape.text());
  }
  if (tensor.data == nullptr && elements > 0) {
    fail(ErrorCode::invalid_argument, "input '", info.name, "' has ", elements,
         " elements, but its data pointer is null");
  }
  slots_[index].view = tensor;
  slots_[index].local = is_named(tensor.device, site_.space);
  slots_[index].set = true;
}

void Inputs::lend(size_t index, const TensorView& tensor) {
  Slot& slot = slots_[index];
  slot.view = tensor;
  slot.local = slot.lent = slot.set = true;
}

void Inputs::forget() {
  for (Slot& slot : slots_) slot.view = {}, slot.set = slot.lent = false;
}

void Inputs::check_complete(size_t count) const {
  for (size_t i = 0; i < count; ++i) {
    if (!slots_[i].set) fail(ErrorCode::invalid_argument, "input ", i, " '", infos_[i].name, "' is not set");
  }
}

bool Inputs::matches(std::span<const Shape> shapes) const {
  for (size_t i = 0; i < slots_.size(); ++i) {
    if (!(slots_[i].view.shape == shapes[i])) return false;
  }
  return true;
}

void Inputs::get_shapes(std::vector<Shape>& shapes) const {
  shapes.clear();
  for (const Slot& slot : slots_) shapes.push_back(slot.view.shape);
}

void Inputs::stage() {
  for (Slot& slot : slots_) {
    const TensorInfo& info = infos_[static_cast<size_t>(&slot - slots_.data())];
    const bool is_string = slot.view.dtype == DType::string;
    slot.transfer = {};
    if (slot.lent || (slot.local && !is_string && usable(slot.view.data, slot.view.dtype, alignment_))) {
      slot.address = const_cast<void*>(slot.view.data);  // kernels only read it: the verifier forbids writes to inputs
      continue;
    }
    const size_t bytes = static_cast<size_t>(slot.view.shape.elements()) * size_of(slot.view.dtype);
    slot.staging.reserve(bytes);
    slot.address = slot.staging.data();
    if (bytes == 0) continue;
    if (slot.local && is_string) {
      copy_elements(info, slot.view, slot.address);
    } else if (slot.local) {
      slot.transfer = {Transfer::Kind::on_device, slot.address, slot.view.data, int64_t(bytes)};
    } else {
      transfer_in(slot, bytes);
      copy_elements(info, slot.view, slot.pinned.data());
    }
  }
}

void Inputs::transfer_in(Slot& slot, size_t bytes) {
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
    if (bytes > 0) transfer_in(slot, bytes);
  }
}

bool Inputs::any_on_host() const {
  return std::any_of(slots_.begin(), slots_.end(), [](const Slot& slot) { return slot.set && !slot.local; });
}

bool Inputs::overlap(const void* data, uint64_t bytes) const {
  const auto begin = reinterpret_cast<uintptr_t>(data);
  for (const Slot& slot : slots_) {
    const auto from = reinterpret_cast<uintptr_t>(slot.view.data);
    const uint64_t length = static_cast<uint64_t>(slot.view.shape.elements()) * size_of(slot.view.dtype);
    if (slot.local && begin < from + length && from < begin + bytes) return true;
  }
  return false;
}

const void* Inputs::host_data(size_t index) const {
  return slots_[index].transfer.kind == Transfer::Kind::to_device ? slots_[index].pinned.data() : nullptr;
}

Outputs::Outputs(std::span<const TensorInfo> infos, const Site& site, const Inputs& inputs)
    : site_(site), inputs_(inputs), infos_(infos), slots_(slots_for<Slot>(infos.size(), site)) {
  for (Slot& slot : slots_) slot.owned = Block(site.memory);
}

void Outputs::set(size_t index, const OutputBuffer& buffer) {
  const TensorInfo& info = infos_[index];
  check_device("output", info.name, buffer.device, site_);
  if (buffer.data == nullptr && buffer.bytes == 0) {
    slots_[index].user = {};
    slots_[index].local = is_named(buffer.device, site_.space);
    return;
  }
  check_dtype("output", info, buffer.dtype);
  if (buffer.data == nullptr) {
    fail(ErrorCode::invalid_argument, "output '", info.name, "': the buffer has ", buffer.bytes,
         " bytes, but its data pointer is null");
  }
  slots_[index].user = buffer;
  slots_[index].local = is_named(buffer.device, site_.space);
}

void Outputs::lend(size_t index, const OutputBuffer& buffer) {
  Slot& slot = slots_[index];
  slot.user = buffer;
  slot.local = slot.lent = true;
}

void Outputs::forget() {
  for (Slot& slot : slots_) slot.user = {}, slot.lent = false, slot.local = is_named(kHost, site_.space);
}

bool Outputs::any_on_host() const {
  return std::any_of(slots_.begin(), slots_.end(), [](const Slot& slot) { return !slot.local; });
}

void Outputs::begin() {
  for (Slot& slot : slots_) slot.bytes = 0;
}

void Outputs::check_apart(size_t index) const {
  const Slot& checked = slots_[index];
  if (checked.user.data == nullptr) return;
  const auto begin = reinterpret_cast<uintptr_t>(checked.user.data);
  for (size_t i = 0; i < slots_.size(); ++i) {
    if (i == index || slots_[i].user.data == nullptr) continue;
    const auto from = reinterpret_cast<uintptr_t>(slots_[i].user.data);
    const uintptr_t first = std::max(begin, from);
    const uintptr_t last = std::min(begin + uintptr_t(checked.bytes), from + uintptr_t(slots_[i].bytes));
    if (first >= last) continue;
    fail(ErrorCode::invalid_argument, "outputs '", infos_[std::min(i, index)].name, "' and '",
         infos_[std::max(i, index)].name, "' overlap: ", last - first, " bytes belong to both");
  }
}

void* Outputs::place(size_t index, int64_t bytes) {
  Slot& slot = slots_[index];
  slot.bytes = bytes;
  if (slot.user.data != nullptr && static_cast<uint64_t>(bytes) > slot.user.bytes) {
    fail(ErrorCode::invalid_argument, "output '", infos_[index].name, "' needs ", bytes, " bytes, but its buffer has ",
         slot.user.bytes);
  }
  if (!slot.lent) check_apart(index);  // the runtime's own memory does not overlap the caller's
  slot.transfer = {};
  if (slot.lent || (slot.local && usable(slot.user.data, slot.user.dtype, alignment_) &&
                    !inputs_.overlap(slot.user.data, static_cast<uint64_t>(bytes)))) {
    slot.address = slot.user.data;
    return slot.address;
  }
  slot.owned.reserve(static_cast<size_t>(bytes));
  slot.address = slot.owned.data();
  if (!slot.local) slot.pinned.reserve(static_cast<size_t>(slot.bytes));
  if (slot.bytes == 0) return slot.address;
  if (!slot.local) {
    slot.transfer = {Transfer::Kind::to_host, slot.pinned.data(), slot.address, slot.bytes};
  } else if (slot.user.data != nullptr) {
    slot.transfer = {Transfer::Kind::on_device, slot.user.data, slot.address, slot.bytes};
  }
  return slot.address;
}

void Outputs::deliver() {
  for (Slot& slot : slots_) {
    if (slot.local || slot.user.data == nullptr || slot.bytes == 0) continue;
    std::memcpy(slot.user.data, slot.pinned.data(), size_t(slot.bytes));
  }
}

const void* Outputs::result(size_t index) const {
  const Slot& slot = slots_[index];
  if (slot.user.data != nullptr) return slot.user.data;
  return slot.local ? slot.address : slot.pinned.data();
}

}  // namespace gart
