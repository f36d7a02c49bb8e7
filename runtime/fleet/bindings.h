// Maps the devices of an assembly to devices of this machine.
#pragma once

#include <cstdint>
#include <string>

#include "runtime/fleet/assembly.h"

namespace gart::fleet {

/// The device as LoadOptions.device names it: "cpu:0-3" by its cores or else its name, "cuda:1" by its ordinal. Fails
/// for a device of another host.
std::string device_here(const Device& device);

/// "this process may use cpu:0-3 and no GPU"
std::string present_devices();

}  // namespace gart::fleet
