// What of this machine stands for the devices of an assembly.
#pragma once

#include <cstdint>
#include <string>

#include "runtime/fleet/assembly.h"

namespace gart::fleet {

/// As LoadOptions.device names it: "cpu:0-3" by the device's cores or else its name, "cuda:1" by its ordinal. Fails for
/// a device of another host.
std::string device_here(const Device& device);

/// "this process may use cpu:0-3 and no GPU"
std::string present_devices();

}  // namespace gart::fleet
