#include "runtime/fleet/bindings.h"

#include "artifact_schema/status.h"
#include "runtime/errors.h"
#include "runtime/fleet/device_kind.h"

namespace gart::fleet {
std::string device_here(const Device& device) {
  if (!device.host.empty())
    fail(ErrorCode::unsupported, "device '", device.name, "' is on host '", device.host, "'; this runtime runs on one");
  return device.kind->here(device);
}

std::string present_devices() {
  std::string devices;
  for (const DeviceKind& kind : device_kinds()) devices += text(devices.empty() ? "" : " and ", kind.present());
  return "this process may use " + devices;
}

}  // namespace gart::fleet
