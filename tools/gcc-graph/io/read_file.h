#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace gcg::tools {

/// All bytes of a file or a pipe. Throws Error with the reason if it cannot be read.
std::vector<uint8_t> read_file(const std::string& path);

}  // namespace gcg::tools
