// Follows the effect of an artifact's steps on memory byte by byte, without the compiler's notion of lifetimes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace gcg::test {

/// Follows the steps of every plan over an arena whose bytes know the buffer last written to them. A step that reads a
/// buffer must find all bytes of it as that buffer's, which nobody has written to since; at the end every output must
/// be written. For plans without control flow. `symbols`: their values, for symbolic plans. Returns the first violation
/// in words; empty when there is none.
std::string check_memory(const std::vector<uint8_t>& artifact, const std::vector<int64_t>& symbols);

}  // namespace gcg::test
