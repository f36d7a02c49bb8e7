#include "tools/gcc-graph/io/read_file.h"

#include <cerrno>
#include <cstring>
#include <fstream>

#include "tools/gcc-graph/support/fail.h"

namespace gcg::tools {

std::vector<uint8_t> read_file(const std::string& path) {
  constexpr size_t kPiece = 1 << 20;
  std::ifstream file(path, std::ios::binary);
  std::vector<uint8_t> bytes;
  while (file) {
    const size_t size = bytes.size();
    bytes.resize(size + kPiece);
    // Unlike the stream's buffer, read() does not throw.
    file.read(reinterpret_cast<char*>(bytes.data() + size), kPiece);
    bytes.resize(size + static_cast<size_t>(file.gcount()));
  }
  if (!file.eof()) fail("cannot read ", path, ": ", std::strerror(errno));
  return bytes;
}

}  // namespace gcg::tools
