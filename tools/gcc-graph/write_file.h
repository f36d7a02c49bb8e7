// Files that are whole or not there.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace gcg::tools {

/// Writes beside the target and renames: a failure leaves nothing half-written. Throws CompileError.
void write_file(const std::string& path, const std::vector<uint8_t>& bytes);

}  // namespace gcg::tools
