// What the devices of a fleet did in a run, as a trace with a row per device.
#pragma once

#include <string>

#include "gart/fleet.hpp"

namespace gcg::tools {

/// `request`: has run well. Throws Error if the file cannot be written.
void trace_fleet(const std::string& path, const std::string& artifact, const gart::fleet::Program& program,
                 const gart::fleet::Request& request);

}  // namespace gcg::tools
