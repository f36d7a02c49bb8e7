// Writes a run of a fleet as a trace with a row per device.
#pragma once

#include <string>

#include "gart/fleet.hpp"

namespace gcg::tools {

/// `request`: a request whose run has succeeded. Throws Error if the file cannot be written.
void trace_fleet(const std::string& path, const std::string& artifact, const gart::fleet::Program& program,
                 const gart::fleet::Request& request);

}  // namespace gcg::tools
