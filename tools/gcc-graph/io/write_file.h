// Files that are whole or not there.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace gcg::tools {

/// Throws Error where write_file could not write: before the work, not after it.
void check_writable(const std::string& path);

/// Writes beside the file and renames: a failure leaves nothing half-written. A link stays one, to the new file; what
/// is no file (/dev/null, a pipe) is written to as it is. Throws Error.
void write_file(const std::string& path, const std::vector<uint8_t>& bytes);

}  // namespace gcg::tools
