// Says how a caller can still run a file if one of its devices is missing.
#pragma once

#include <string>

#include "gart_generated.h"
#include "runtime/fleet/assembly.h"

namespace gart::fleet {

/// True if all parts of the groups on `device` have code for CPUs.
bool cpu_stands_in(const fb::Manifest& manifest, const Assembly& assembly, uint32_t device);

/// The ways to run the file without `device`, as the end of a message. A way is listed if the file makes it possible:
/// other devices can run the device's groups, its parts have CPU code, or the whole model has CPU code.
std::string ways_without(const fb::Manifest& manifest, const Assembly& assembly, uint32_t device);

}  // namespace gart::fleet
