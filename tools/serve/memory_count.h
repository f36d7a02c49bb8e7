// The memory that loaded models hold.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>

namespace gcg::serve {

/// Bytes of all models of a server. It outlives each model.
using MemoryTotal = std::shared_ptr<std::atomic<int64_t>>;

/// Bytes that are counted in a total as long as this object lives.
class CountedBytes {
 public:
  CountedBytes() = default;
  CountedBytes(MemoryTotal total, int64_t bytes) : total_(std::move(total)) { set(bytes); }
  CountedBytes(CountedBytes&& other) noexcept
      : total_(std::exchange(other.total_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}
  CountedBytes& operator=(CountedBytes&& other) noexcept {
    std::swap(total_, other.total_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~CountedBytes() { set(0); }

  void set(int64_t bytes) {
    if (total_) *total_ += bytes - bytes_;
    bytes_ = bytes;
  }
  int64_t bytes() const { return bytes_; }

 private:
  MemoryTotal total_;
  int64_t bytes_ = 0;
};

}  // namespace gcg::serve
