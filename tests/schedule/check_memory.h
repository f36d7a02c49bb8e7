// Follows an artifact's steps on memory byte by byte, independently of the compiler's lifetimes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace gcg::test {

/// Follows the steps of every plan over an arena whose bytes know the buffer last written to them. When a step reads a
/// buffer, all its bytes must still belong to that buffer. At the end every output must be written. For plans without
/// control flow. `symbols`: the symbols' values, for symbolic plans. Returns the first violation as text; empty if
/// there is none.
std::string check_memory(const std::vector<uint8_t>& artifact, const std::vector<int64_t>& symbols);

}  // namespace gcg::test
