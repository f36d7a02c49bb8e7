#include "tools/gcc-graph/write_file.h"

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>

#include "compiler/support/error.h"

namespace gcg::tools {

void write_file(const std::string& path, const std::vector<uint8_t>& bytes) {
  const std::string temporary = path + ".tmp" + std::to_string(getpid());
  std::ofstream file(temporary, std::ios::binary);
  file.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  file.close();
  if (!file || std::rename(temporary.c_str(), path.c_str()) != 0) {
    const int error = errno;
    std::remove(temporary.c_str());
    fail("cannot write ", path, ": ", std::strerror(error));
  }
}

}  // namespace gcg::tools
