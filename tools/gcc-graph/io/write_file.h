// Writes files as a whole or not at all.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace gcg::tools {

/// Throws Error if write_file could not write to this path. Call this function before long work.
void check_writable(const std::string& path);

/// Writes to a temporary file in the same folder and renames it, so a failure leaves no partial file. A symbolic link
/// stays a link, to the new file. Devices and pipes (/dev/null) are written directly. Throws Error.
void write_file(const std::string& path, const std::vector<uint8_t>& bytes);

}  // namespace gcg::tools
