#include "tools/gcc-graph/io/write_file.h"

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "tools/gcc-graph/support/fail.h"

namespace gcg::tools {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void refuse(const std::string& path, int error) {
  fail("cannot write ", path, ": ", std::strerror(error));
}

/// True for a device or a pipe, which a rename would replace by a file.
bool is_no_file(const std::string& path) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  return fs::exists(status) && !fs::is_regular_file(status) && !fs::is_directory(status);
}

/// The file to which the symbolic links of `path` lead.
fs::path past_links(fs::path path) {
  constexpr int kMostLinks = 40;  // the number of links that Linux follows
  std::error_code error;
  for (int i = 0; i < kMostLinks && fs::is_symlink(path, error); ++i)
    path = path.parent_path() / fs::read_symlink(path, error);
  return path;
}

bool write(const fs::path& path, const std::vector<uint8_t>& bytes) {
  std::ofstream file(path, std::ios::binary);
  file.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  file.close();
  return file.good();
}

}  // namespace

void check_writable(const std::string& path) {
  std::error_code error;
  if (path == "-") fail("cannot write -: name a file (./- for a file named -)");
  if (fs::is_directory(path, error)) refuse(path, EISDIR);
  const fs::path folder = past_links(path).parent_path();
  const std::string probed = is_no_file(path) ? path : folder.empty() ? "." : folder.string();
  if (path.empty() || access(probed.c_str(), W_OK) != 0) refuse(path, path.empty() ? ENOENT : errno);
}

void write_file(const std::string& path, const std::vector<uint8_t>& bytes) {
  if (is_no_file(path)) {
    if (!write(path, bytes)) refuse(path, errno);
    return;
  }
  const fs::path file = past_links(path);
  const std::string temporary = file.string() + ".tmp" + std::to_string(getpid());
  if (!write(temporary, bytes) || std::rename(temporary.c_str(), file.c_str()) != 0) {
    const int error = errno;
    std::remove(temporary.c_str());
    refuse(path, error);
  }
}

}  // namespace gcg::tools
