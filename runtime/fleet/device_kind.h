// The kinds of devices that a fleet can use. A row holds all that differs between kinds, so the fleet names no kind.
#pragma once

#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "assembly_generated.h"
#include "runtime/fleet/engine.h"

namespace gart::fleet {

struct Device;

struct DeviceKind {
  std::string_view name;                         // the first word of LoadOptions.device: "cpu" for "cpu" and "cpu:0-3"
  std::vector<fb::TargetKind> in_files;          // the target kinds of such devices in a fleet plan
  bool has_threads = false;                      // True if LoadOptions.threads sets the number of threads
  bool fails_together = false;                   // if one of its devices is missing, the others may be missing, too
  std::string (*here)(const Device&) = nullptr;  // the device as LoadOptions.device names it
  std::string (*present)() = 0;                  // the devices of this kind that the process may use, for messages
  std::unique_ptr<Space> (*open_space)(std::string_view device) = nullptr;  // null: the kind uses the host's memory
};

/// The kinds that this library has; runtime/fleet_devices defines them. References to rows stay valid.
std::deque<DeviceKind>& device_kinds();

/// The kind of a device in a file. Throws Failure, with the name of the device, if this runtime does not have it.
const DeviceKind& device_kind(fb::TargetKind in_file, std::string_view device);
/// The kind that LoadOptions.device names; null: there is none.
const DeviceKind* named_kind(std::string_view device);
/// The memory of the device that LoadOptions.device names; null: the host's. Throws Failure.
std::unique_ptr<Space> open_space(std::string_view device);

}  // namespace gart::fleet
