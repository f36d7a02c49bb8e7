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

/// The source of Blocks: host memory, device memory, or host memory that a device copies from and to.
class MemorySource {
 public:
  /// Returns at least 64-byte aligned memory, never null; bytes > 0. May allocate more than requested, and then updates
  /// `bytes`. Throws Failure.
  virtual void* allocate(size_t& bytes) = 0;
  /// `bytes`: the value that allocate() set.
  virtual void release(void* data, size_t bytes) noexcept = 0;
  /// These functions copy between this memory and the host's, or within it, and wait for the end. They throw Failure.
  virtual void write(void* to, const void* host, size_t bytes);
  virtual void read(void* host, const void* from, size_t bytes);
  virtual void move(void* to, const void* from, size_t bytes);

 protected:
  ~MemorySource() = default;
};

/// Host memory; big blocks request huge pages.
MemorySource& host_memory();

/// Writes to every page of host memory, so that no later access faults.
void touch_pages(uint8_t* data, size_t bytes);

/// A growing, 64-byte aligned block. Never null once reserved.
class Block {
 public:
  /// `source` must outlive the block.
  explicit Block(MemorySource* source = &host_memory()) : source_(source) {}
  Block(Block&& other) noexcept;
  Block& operator=(Block&& other) noexcept;
  ~Block();

  /// Makes room for `bytes`. Returns true if the block has moved and its contents are lost, false if it was big enough.
  /// Throws the source's exceptions.
  bool reserve(size_t bytes);
  uint8_t* data() const { return data_; }
  size_t capacity() const { return capacity_; }

 private:
  void release();
  uint8_t* data_ = nullptr;
  size_t capacity_ = 0;
  MemorySource* source_;
};

/// Pages of a file or of anonymous memory.
class Mapping {
 public:
  Mapping() = default;
  Mapping(Mapping&& other) noexcept;
  Mapping& operator=(Mapping&& other) noexcept;
  ~Mapping();

  /// A whole file, read-only. These throw Failure.
  static Mapping of_file(const std::string& path);
  /// Maps `code` into executable, read-only memory: from `file` at `offset` if `offset` is a page boundary and the file
  /// system allows it. Otherwise, or if file < 0, copies the code.
  static Mapping of_code(int file, uint64_t offset, std::span<const uint8_t> code);

  std::span<const uint8_t> bytes() const { return {data_, size_}; }
  int file() const { return file_; }  ///< still open; -1 if not from a file

 private:
  void release();
  uint8_t* data_ = nullptr;
  size_t size_ = 0;
  int file_ = -1;
};

}  // namespace gart
