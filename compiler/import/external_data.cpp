#include "compiler/import/external_data.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>
#include <vector>

#include "compiler/support/error.h"

namespace gcg {
namespace {

/// A file descriptor that its destructor closes.
class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() { reset(-1); }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return fd_; }
  int release() { return std::exchange(fd_, -1); }
  void reset(int fd) {
    if (fd_ >= 0) ::close(fd_);
    fd_ = fd;
  }

 private:
  int fd_;
};

std::vector<std::string> parts_of(const std::string& location, const std::string& where) {
  if (location.empty()) fail(where, " names no file");
  if (location.find('\0') != std::string::npos) fail(where, " has a file name with a NUL byte");
  if (location[0] == '/')
    fail(where, " lies at the absolute path ", location, "; only files beneath the model's folder are read");
  std::vector<std::string> parts;
  for (size_t begin = 0; begin <= location.size();) {
    const size_t end = std::min(location.find('/', begin), location.size());
    parts.push_back(location.substr(begin, end - begin));
    if (parts.back() == "..") fail(where, " lies at ", location, ", which leaves the model's folder");
    if (parts.back().empty() || parts.back() == ".") parts.pop_back();
    begin = end + 1;
  }
  if (parts.empty()) fail(where, " lies at ", location, ", which is not a file name");
  return parts;
}

/// Opens one part of a path without following a link; never blocks on a FIFO or a device.
int open_part(int folder, const std::string& part, bool last, const std::string& where, const std::string& location) {
  struct stat info{};
  if (::fstatat(folder, part.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0)
    fail(where, " lies at ", location, ", which cannot be read: ", std::strerror(errno));
  if (S_ISLNK(info.st_mode)) fail(where, " lies at ", location, ", where '", part, "' is a symbolic link");
  if (last && !S_ISREG(info.st_mode)) fail(where, " lies at ", location, ", which is not a regular file");
  const int flags = O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | (last ? 0 : O_DIRECTORY);
  const int fd = ::openat(folder, part.c_str(), flags);
  if (fd < 0) fail(where, " lies at ", location, ", which cannot be read: ", std::strerror(errno));
  return fd;
}

}  // namespace

std::shared_ptr<const MappedFile> ExternalData::file(const std::string& location, const std::string& tensor) {
  if (const auto known = files_.find(location); known != files_.end()) return known->second;
  const std::string where = concat("the external data of tensor '", tensor, "'");
  if (folder_.empty()) fail(where, " lies at ", location, ", but the model comes from memory and has no folder");
  const std::vector<std::string> parts = parts_of(location, where);
  Descriptor at(::open(folder_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (at.get() < 0) fail("cannot open the model's folder ", folder_, ": ", std::strerror(errno));
  for (size_t i = 0; i < parts.size(); ++i)
    at.reset(open_part(at.get(), parts[i], i + 1 == parts.size(), where, location));
  struct stat info{};  // describes the opened file, even if the name refers to another one by now
  if (::fstat(at.get(), &info) != 0 || !S_ISREG(info.st_mode))
    fail(where, " lies at ", location, ", which is not a regular file");
  if (info.st_nlink > 1)
    fail(where, " lies at ", location, ", which has ", info.st_nlink, " hard links; only 1 is allowed");
  auto mapped = MappedFile::adopt(at.release(), info.st_size, location);
  files_[location] = mapped;
  return mapped;
}

}  // namespace gcg
