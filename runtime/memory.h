// Aligned memory, and files mapped into memory. All types own what they hold and are movable only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "gart/result.h"

namespace gart {

inline constexpr size_t kAlignment = 64;

inline bool is_aligned(const void* data) { return reinterpret_cast<uintptr_t>(data) % kAlignment == 0; }

/// Where Blocks outside the host's heap come from: a device's memory, or host memory that it copies from and to.
class MemorySource {
 public:
  virtual ~MemorySource() = default;
  /// At least 64-byte aligned, never null; bytes > 0. Throws Failure.
  virtual void* allocate(size_t bytes) = 0;
  virtual void release(void* data) noexcept = 0;
};

/// A growing, 64-byte aligned block; big ones ask for huge pages. Never null once reserved.
class Block {
 public:
  Block() = default;
  /// `source` must outlive the block; null: the host's heap.
  explicit Block(MemorySource* source) : source_(source) {}
  Block(Block&& other) noexcept;
  Block& operator=(Block&& other) noexcept;
  ~Block();

  /// Makes room for `bytes`. True: the block moved, and what it held is lost. False: it was big enough already.
  /// Throws Failure, or what the source throws.
  bool reserve(size_t bytes);
  /// Writes to every page, so that no later access faults. Only for memory of the host.
  void touch();
  uint8_t* data() const { return data_; }
  size_t capacity() const { return capacity_; }

 private:
  void release();
  uint8_t* data_ = nullptr;
  size_t capacity_ = 0;
  size_t mapped_ = 0;  // bytes if mapped, 0 if from the heap or the source
  MemorySource* source_ = nullptr;
};

/// Pages of a file or of anonymous memory.
class Mapping {
 public:
  Mapping() = default;
  Mapping(Mapping&& other) noexcept;
  Mapping& operator=(Mapping&& other) noexcept;
  ~Mapping();

  /// A whole file, read-only.
  static Result<Mapping> of_file(const std::string& path);
  /// `code` as executable and no longer writable memory: mapped from `file` at `offset` if that is a page boundary and
  /// the file system allows it, otherwise copied. file < 0: copied.
  static Result<Mapping> of_code(int file, uint64_t offset, std::span<const uint8_t> code);

  std::span<const uint8_t> bytes() const { return {data_, size_}; }
  int file() const { return file_; }  ///< still open; -1 if not from a file

 private:
  void release();
  uint8_t* data_ = nullptr;
  size_t size_ = 0;
  int file_ = -1;
};

}  // namespace gart
