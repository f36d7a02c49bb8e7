// A fleet's JSON from a file.
#pragma once

#include <string>

#include "compiler/fleet/fleet.h"

namespace gcg::tools {

/// Throws CompileError that names the file and what is wrong with it.
Fleet read_fleet(const std::string& path);

}  // namespace gcg::tools
