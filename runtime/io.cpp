#include "runtime/io.h"

#include <cstring>

#include "runtime/errors.h"

namespace gart {
namespace {

Result<void> check_device(const char* what, const std::string& name, const char* device) {
  if (device != nullptr && std::string_view(device) == "cpu") return {};
  return error(ErrorCode::invalid_argument, what, " '", name, "' is on device '", device == nullptr ? "(null)" : device,
               "', but this program runs on 'cpu'");
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

}  // namespace

Result<void> Inputs::set(size_t index, const TensorView& tensor) {
  GART_TRY(check_index("input", index, slots_.size()));
  const TensorInfo& info = infos_[index];
  GART_TRY(check_dtype("input", info, tensor.dtype));
  GART_TRY(check_device("input", info.name, tensor.device));
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
    if (slot.view.data != nullptr && is_aligned(slot.view.data)) {
      slot.address = const_cast<void*>(slot.view.data);  // kernels only read it: the verifier forbids writes to inputs
      continue;
    }
    const size_t bytes = static_cast<size_t>(slot.view.shape.elements()) * size_of(slot.view.dtype);
    slot.staging.reserve(bytes);
    if (bytes > 0) std::memcpy(slot.staging.data(), slot.view.data, bytes);
    slot.address = slot.staging.data();
  }
}

Result<void> Outputs::set(size_t index, const OutputBuffer& buffer) {
  GART_TRY(check_index("output", index, slots_.size()));
  const TensorInfo& info = infos_[index];
  if (buffer.data == nullptr && buffer.bytes == 0) {
    slots_[index].user = {};
    return {};
  }
  GART_TRY(check_dtype("output", info, buffer.dtype));
  GART_TRY(check_device("output", info.name, buffer.device));
  if (buffer.data == nullptr) {
    return error(ErrorCode::invalid_argument, "output '", info.name, "': the buffer has ", buffer.bytes,
                 " bytes, but its data pointer is null");
  }
  slots_[index].user = buffer;
  return {};
}

void Outputs::forget() {
  for (Slot& slot : slots_) slot.user = {};
}

Result<void*> Outputs::place(size_t index, int64_t bytes) {
  Slot& slot = slots_[index];
  slot.bytes = bytes;
  if (slot.user.data != nullptr && static_cast<uint64_t>(bytes) > slot.user.bytes) {
    return error(ErrorCode::invalid_argument, "output '", infos_[index].name, "' needs ", bytes,
                 " bytes, but its buffer has ", slot.user.bytes);
  }
  if (slot.user.data != nullptr && is_aligned(slot.user.data)) {
    slot.address = slot.user.data;
  } else {
    slot.own.reserve(static_cast<size_t>(bytes));
    slot.address = slot.own.data();
  }
  return slot.address;
}

void Outputs::deliver() {
  for (Slot& slot : slots_) {
    if (slot.user.data == nullptr || slot.user.data == slot.address || slot.bytes == 0) continue;
    std::memcpy(slot.user.data, slot.address, static_cast<size_t>(slot.bytes));
  }
}

const void* Outputs::result(size_t index) const {
  const Slot& slot = slots_[index];
  return slot.user.data != nullptr ? slot.user.data : slot.address;
}

}  // namespace gart
