#include "runtime/memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <new>
#include <utility>

#include "artifact_schema/container.h"
#include "runtime/errors.h"

namespace gart {
namespace {

constexpr size_t kHugePage = 2 << 20;
constexpr size_t kPage = 4096;

class HostMemory final : public MemorySource {
 public:
  void* allocate(size_t& bytes) override {
    const bool huge = bytes >= kHugePage;
    bytes = align_up(bytes, huge ? kHugePage : kAlignment);
    void* data = huge ? mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
                      : std::aligned_alloc(kAlignment, bytes);
    if (data == nullptr || data == MAP_FAILED) {
      fail(ErrorCode::out_of_memory, "the system has no ", bytes, " bytes of memory for the arena of a run");
    }
    if (huge) madvise(data, bytes, MADV_HUGEPAGE);  // only a hint: a failure does not matter
    return data;
  }
  void release(void* data, size_t bytes) noexcept override {
    if (bytes >= kHugePage) {
      munmap(data, bytes);
    } else {
      std::free(data);
    }
  }
};

}  // namespace

MemorySource& host_memory() {
  static constinit HostMemory memory;
  return memory;
}

void MemorySource::write(void* to, const void* host, size_t bytes) { move(to, host, bytes); }
void MemorySource::read(void* host, const void* from, size_t bytes) { move(host, from, bytes); }
void MemorySource::move(void* to, const void* from, size_t bytes) {
  if (bytes > 0) std::memcpy(to, from, bytes);
}

void touch_pages(uint8_t* data, size_t bytes) {
  for (size_t offset = 0; offset < bytes; offset += kPage) const_cast<volatile uint8_t*>(data)[offset] = 0;
}

Block::Block(Block&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)),
      capacity_(std::exchange(other.capacity_, 0)),
      source_(other.source_) {}

Block& Block::operator=(Block&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(capacity_, other.capacity_);
  std::swap(source_, other.source_);
  return *this;
}

Block::~Block() { release(); }

void Block::release() {
  if (data_ != nullptr) source_->release(data_, capacity_);
  data_ = nullptr;
  capacity_ = 0;
}

bool Block::reserve(size_t bytes) {
  if (data_ != nullptr && bytes <= capacity_) return false;
  release();
  size_t size = align_up(bytes == 0 ? 1 : bytes, kAlignment);
  data_ = static_cast<uint8_t*>(source_->allocate(size));
  capacity_ = size;
  return true;
}

Mapping::Mapping(Mapping&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)),
      size_(std::exchange(other.size_, 0)),
      file_(std::exchange(other.file_, -1)) {}

Mapping& Mapping::operator=(Mapping&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  std::swap(file_, other.file_);
  return *this;
}

Mapping::~Mapping() { release(); }

void Mapping::release() {
  if (data_ != nullptr) munmap(data_, size_);
  if (file_ >= 0) close(file_);
}

Mapping Mapping::of_file(const std::string& path) {
  Mapping mapping;
  mapping.file_ = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (mapping.file_ < 0) fail(ErrorCode::io, "cannot open '", path, "': ", std::strerror(errno));
  struct stat info = {};
  if (fstat(mapping.file_, &info) != 0) fail(ErrorCode::io, "cannot read '", path, "': ", std::strerror(errno));
  if (!S_ISREG(info.st_mode)) fail(ErrorCode::io, "'", path, "' is not a regular file");
  if (info.st_size == 0) fail(ErrorCode::invalid_artifact, "'", path, "' is empty");
  const size_t size = static_cast<size_t>(info.st_size);
  void* data = mmap(nullptr, size, PROT_READ, MAP_PRIVATE | MAP_POPULATE, mapping.file_, 0);
  if (data == MAP_FAILED) fail(ErrorCode::io, "cannot map '", path, "': ", std::strerror(errno));
  mapping.data_ = static_cast<uint8_t*>(data);
  mapping.size_ = size;
  return mapping;
}

Mapping Mapping::of_code(int file, uint64_t offset, std::span<const uint8_t> code) {
  Mapping mapping;
  if (code.empty()) return mapping;
  if (file >= 0 && offset % static_cast<uint64_t>(sysconf(_SC_PAGESIZE)) == 0) {
    void* data =
        mmap(nullptr, code.size(), PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_POPULATE, file, static_cast<off_t>(offset));
    if (data != MAP_FAILED) {
      mapping.data_ = static_cast<uint8_t*>(data);
      mapping.size_ = code.size();
      return mapping;
    }
  }
  void* data = mmap(nullptr, code.size(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (data == MAP_FAILED) throw std::bad_alloc();
  mapping.data_ = static_cast<uint8_t*>(data);
  mapping.size_ = code.size();
  std::memcpy(data, code.data(), code.size());
  __builtin___clear_cache(static_cast<char*>(data), static_cast<char*>(data) + code.size());
  if (mprotect(data, code.size(), PROT_READ | PROT_EXEC) != 0) {
    fail(ErrorCode::unsupported, "the system does not allow executable memory: ", std::strerror(errno));
  }
  return mapping;
}

}  // namespace gart
