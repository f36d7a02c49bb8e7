// Reads a fleet's JSON from a file.
#pragma once

#include <string>

#include "gcc_graph/fleet.h"

namespace gcg::tools {

/// Throws Error that names the file and the fault.
gcc_graph::Fleet read_fleet(const std::string& path);

}  // namespace gcg::tools
