#include "runtime/fleet/device_kind.h"

#include <algorithm>

#include "runtime/errors.h"

namespace gart::fleet {

const DeviceKind& device_kind(fb::TargetKind in_file, std::string_view device) {
  for (const DeviceKind& kind : device_kinds())
    if (std::find(kind.in_files.begin(), kind.in_files.end(), in_file) != kind.in_files.end()) return kind;
  fail(ErrorCode::unsupported, "device '", device, "' of the file is of kind ", static_cast<int>(in_file),
       ", which this runtime does not know");
}

const DeviceKind* named_kind(std::string_view device) {
  const std::string_view name = device.substr(0, device.find(':'));
  for (const DeviceKind& kind : device_kinds())
    if (kind.name == name) return &kind;
  return nullptr;
}

std::unique_ptr<Space> open_space(std::string_view device) {
  const DeviceKind* kind = named_kind(device);
  return kind == nullptr || kind->open_space == nullptr ? nullptr : kind->open_space(device);
}

}  // namespace gart::fleet
