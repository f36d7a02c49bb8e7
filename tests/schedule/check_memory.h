// Checks the use of memory by an artifact's steps byte by byte, independently of the compiler's lifetimes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace gcg::test {

/// Follows the steps of every plan, and records for each byte of the arena the buffer last written to it. When a step
/// reads a buffer, all its bytes must still belong to that buffer. At the end every output must be written. Plans must
/// have no control flow. `symbols`: the symbols' values, for symbolic plans. Returns the first violation as text; empty
/// if there is none.
std::string check_memory(const std::vector<uint8_t>& artifact, const std::vector<int64_t>& symbols);

}  // namespace gcg::test
