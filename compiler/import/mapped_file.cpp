#include "compiler/import/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "compiler/support/error.h"

namespace gcg {

std::shared_ptr<const MappedFile> MappedFile::open(const std::string& path) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);  // O_NONBLOCK: a FIFO must not block
  if (descriptor < 0) fail("cannot read ", path, ": ", std::strerror(errno));
  struct stat info{};
  if (::fstat(descriptor, &info) != 0 || !S_ISREG(info.st_mode)) {
    ::close(descriptor);
    fail("cannot read ", path, ": it is not a regular file");
  }
  return adopt(descriptor, info.st_size, path);
}

std::shared_ptr<const MappedFile> MappedFile::adopt(int descriptor, int64_t size, const std::string& path) {
  void* data = nullptr;
  if (size > 0) data = ::mmap(nullptr, static_cast<size_t>(size), PROT_READ, MAP_PRIVATE, descriptor, 0);
  const int error = errno;
  ::close(descriptor);
  if (data == MAP_FAILED) fail("cannot map ", path, ": ", std::strerror(error));
  return std::shared_ptr<const MappedFile>(new MappedFile(static_cast<const uint8_t*>(data), size));
}

MappedFile::~MappedFile() {
  if (data_ != nullptr) ::munmap(const_cast<uint8_t*>(data_), static_cast<size_t>(size_));
}

}  // namespace gcg
