// Maps the devices of an assembly to devices of this machine.
#pragma once

#include <cstdint>
#include <string>

#include "runtime/fleet/assembly.h"

namespace gart::fleet {

/// The device as LoadOptions.device names it, such as "cpu:0-3". Fails for a device of another host.
std::string device_here(const Device& device);

/// "this process may use cpu:0-3 and ...": the devices of all kinds
std::string present_devices();

}  // namespace gart::fleet
