#include "tools/store/files.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "artifact_schema/digest.h"
#include "tools/store/store_error.h"

namespace gart::store {
namespace {

namespace fs = std::filesystem;

constexpr mode_t kReadable = 0444;

[[noreturn]] void fail(const char* action, const std::string& path) {
  refuse("cannot ", action, " ", path, ": ", std::strerror(errno));
}

class Descriptor {
 public:
  Descriptor(const std::string& path, int flags) : number(open(path.c_str(), flags | O_CLOEXEC, 0644)) {}
  ~Descriptor() {
    if (number >= 0) close(number);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  const int number;
};

void write_all(int to, const std::vector<char>& buffer, size_t count, const std::string& path) {
  for (size_t done = 0; done < count;) {
    const ssize_t n = write(to, buffer.data() + done, count - done);
    if (n < 0 && errno != EINTR) fail("write", path);
    done += n > 0 ? static_cast<size_t>(n) : 0;
  }
}

void copy_bytes(int from, int to, const std::string& source, const std::string& target) {
  constexpr size_t kPiece = 1 << 20;
  for (ssize_t n = 1; n > 0;) {
    n = copy_file_range(from, nullptr, to, nullptr, kPiece * kPiece, 0);
    if (n == 0) return;
  }
  // Some file systems do not support copy_file_range. It has advanced both positions by the bytes that it copied.
  std::vector<char> buffer(kPiece);
  for (;;) {
    const ssize_t n = read(from, buffer.data(), buffer.size());
    if (n == 0) return;
    if (n < 0 && errno != EINTR) fail("read", source);
    if (n > 0) write_all(to, buffer, static_cast<size_t>(n), target);
  }
}

}  // namespace

FileLock::FileLock(const std::string& path) : descriptor_(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644)) {
  if (descriptor_ < 0) fail("open", path);
  while (flock(descriptor_, LOCK_EX) != 0) {
    if (errno == EINTR) continue;
    close(descriptor_);
    fail("lock", path);
  }
}

FileLock::~FileLock() { close(descriptor_); }

FileMap::FileMap(const std::string& path) {
  const Descriptor file(path, O_RDONLY);
  struct stat facts = {};
  if (file.number < 0 || fstat(file.number, &facts) != 0) fail("read", path);
  if (!S_ISREG(facts.st_mode)) refuse("cannot read ", path, ": it is not a file");
  if (facts.st_size == 0) return;
  void* at = mmap(nullptr, static_cast<size_t>(facts.st_size), PROT_READ, MAP_PRIVATE, file.number, 0);
  if (at == MAP_FAILED) fail("map", path);
  bytes_ = {static_cast<const uint8_t*>(at), static_cast<size_t>(facts.st_size)};
}

FileMap::~FileMap() {
  if (!bytes_.empty()) munmap(const_cast<uint8_t*>(bytes_.data()), bytes_.size());
}

Incoming::Incoming(const std::string& from, const std::string& folder) : path_(folder + "/copy-XXXXXX") {
  const Descriptor source(from, O_RDONLY);
  struct stat facts = {};
  if (source.number < 0 || fstat(source.number, &facts) != 0) fail("read", from);
  if (!S_ISREG(facts.st_mode)) refuse("cannot read ", from, ": it is not a file");
  descriptor_ = mkostemp(path_.data(), O_CLOEXEC);
  if (descriptor_ < 0) fail("write to", folder);
  try {
    // clean_incoming() removes unlocked files, and may have removed this one before the lock was taken.
    if (flock(descriptor_, LOCK_EX) != 0 || fstat(descriptor_, &facts) != 0 || facts.st_nlink == 0)
      refuse("cannot write to ", folder, ": another process removed the file");
    copy_bytes(source.number, descriptor_, from, path_);
    if (fchmod(descriptor_, kReadable) != 0 || fsync(descriptor_) != 0) fail("write", path_);
  } catch (...) {
    unlink(path_.c_str());
    close(descriptor_);
    throw;
  }
}

Incoming::~Incoming() {
  if (!is_moved_) unlink(path_.c_str());
  close(descriptor_);
}

void Incoming::move_to(const std::string& target) {
  if (std::rename(path_.c_str(), target.c_str()) != 0) fail("write", target);
  is_moved_ = true;
}

std::string digest_text(std::span<const uint8_t> bytes) {
  const int threads = static_cast<int>(std::thread::hardware_concurrency());
  std::string text;
  for (const uint8_t byte : digest_section(bytes, threads > 0 ? threads : 1)) {
    text += "0123456789abcdef"[byte >> 4];
    text += "0123456789abcdef"[byte & 15];
  }
  return text;
}

void sync_folder(const std::string& path) {
  const Descriptor folder(path, O_RDONLY | O_DIRECTORY);
  if (folder.number < 0 || (fsync(folder.number) != 0 && errno != EINVAL)) fail("write to", path);
}

std::vector<std::string> clean_incoming(const std::string& folder, bool removes) {
  std::vector<std::string> dead;
  for (const auto& entry : fs::directory_iterator(folder)) {
    const Descriptor file(entry.path(), O_RDONLY);
    if (file.number < 0 || flock(file.number, LOCK_EX | LOCK_NB) != 0) continue;
    dead.push_back(entry.path().filename());
    if (removes) unlink(entry.path().c_str());
  }
  return dead;
}

}  // namespace gart::store
